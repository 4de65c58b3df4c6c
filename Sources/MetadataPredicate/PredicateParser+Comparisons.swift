extension PredicateParser {
    /// - Returns: `nil` if the next token is not an operator.
    mutating func comparison(
        _ left: PredicateExpression, _ quantifier: PredicateComparison.Quantifier?
    ) throws(PredicateFormatError) -> PredicateComparison? {
        guard let relation = try relation() else { return nil }
        try advance()
        let options = try parseOptions()
        let offset = token.offset
        let right = token.isSymbol("(") ? try parenthesizedOperand() : try operand()
        var comparison = PredicateComparison(
            quantifier: quantifier, left: left, relation: relation, options: options, right: right)
        try check(&comparison, right: offset)
        return comparison
    }

    private func relation() throws(PredicateFormatError) -> PredicateComparison.Relation? {
        if case .symbol(let symbol) = token.kind {
            switch symbol {
            case "=", "==": return .equal
            case "!=", "<>": return .notEqual
            case "<": return .less
            case ">": return .greater
            case "<=", "=<": return .lessOrEqual
            case ">=", "=>": return .greaterOrEqual
            case "+", "-", "*", "/", "**":
                throw PredicateFormatError(
                    at: token.offset, "arithmetic is not supported: compute the value, and pass it with %@")
            case "[":
                throw PredicateFormatError(
                    at: token.offset, "indexes are not supported: write a key path, for example a.@count")
            default: return nil
            }
        }
        switch token.keyword {
        case "BETWEEN": return .between
        case "IN": return .isIn
        case "BEGINSWITH": return .beginsWith
        case "ENDSWITH": return .endsWith
        case "CONTAINS": return .contains
        case "LIKE": return .like
        case "MATCHES": return .matches
        case "UTI-CONFORMS-TO": return .conformsToType
        case "UTI-EQUALS": return .equalsType
        default:
            guard case .identifier(let name) = token.kind, token.keyword == nil else { return nil }
            throw PredicateFormatError(
                at: token.offset, "unknown operator \"\(name)\": write for example ==, CONTAINS, BEGINSWITH, LIKE or IN"
            )
        }
    }

    /// `[cd]` after an operator.
    private mutating func parseOptions() throws(PredicateFormatError) -> PredicateComparison.Options {
        guard token.isSymbol("[") else { return [] }
        let sentence = "after [ write c, d, cd, n or l, and then ]"
        try advance()
        guard case .identifier(let letters) = token.kind else { throw PredicateFormatError(at: token.offset, sentence) }
        var options: PredicateComparison.Options = []
        for (index, letter) in letters.unicodeScalars.enumerated() {
            switch letter {
            case "c", "C": options.insert(.caseInsensitive)
            case "d", "D": options.insert(.diacriticInsensitive)
            case "n", "N": options.insert(.normalized)
            case "l", "L": options.insert(.localeSensitive)
            default: throw PredicateFormatError(at: token.offset + index, "unknown option \"\(letter)\": \(sentence)")
            }
        }
        try advance()
        try expect("]", sentence)
        return options
    }

    private mutating func parenthesizedOperand() throws(PredicateFormatError) -> PredicateExpression {
        try advance()
        let operand = try nested { (parser) throws(PredicateFormatError) in
            parser.token.isSymbol("(") ? try parser.parenthesizedOperand() : try parser.operand()
        }
        if token.isSymbol(",") { throw PredicateFormatError(at: token.offset, "write a list in braces: {1, 2}") }
        try expect(")", "a closing parenthesis is missing before \(token.text)")
        return operand
    }

    /// Refuses constants of the wrong type on the right side, and compiles a pattern.
    private func check(_ comparison: inout PredicateComparison, right offset: Int) throws(PredicateFormatError) {
        let list: [PredicateExpression]? =
            switch comparison.right {
            case .list(let members): members
            case .constant(.list(let members)): members.map { .constant($0) }
            default: nil
            }
        let right = comparison.right.constantValue
        switch comparison.relation {
        case .between:
            if let list, list.count == 2 { return }
            guard right == nil, list == nil else {
                throw PredicateFormatError(at: offset, "BETWEEN takes a list of two values: {1, 10}")
            }
        case .isIn:
            switch right {
            case .integer, .real, .date, .missing:
                throw PredicateFormatError(at: offset, "IN takes a list or a text: {\"a\", \"b\"}")
            default: break
            }
        case .beginsWith, .endsWith, .like, .matches, .conformsToType, .equalsType:
            switch right {
            case nil, .string: break
            default: throw PredicateFormatError(at: offset, "this operator takes a text, for example \"report\"")
            }
            guard comparison.relation == .matches, case .string(let pattern) = right else { return }
            comparison.pattern = WholeStringPattern(pattern, options: comparison.options)
            guard comparison.pattern != nil else {
                throw PredicateFormatError(
                    at: offset, "not a regular expression: check its parentheses, brackets and escapes")
            }
        default: break
        }
    }
}

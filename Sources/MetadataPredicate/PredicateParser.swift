/// Parses a predicate format by recursive descent.
///
///     or         = and { ("OR" | "||") and }
///     and        = unit { ("AND" | "&&") unit }
///     unit       = ("NOT" | "!") unit | "TRUEPREDICATE" | "FALSEPREDICATE" | "(" or ")" | comparison
///     comparison = [ "ANY" | "SOME" | "ALL" | "NONE" ] operand relation [ "[" letters "]" ] operand
struct PredicateParser {
    private var scanner: PredicateScanner
    var token: PredicateToken
    /// How many parentheses, lists and negations are open.
    private var depth = 0
    var keys: [MetadataPredicate.Key] = []

    private let arguments: [Any?]
    private var usedArgumentCount = 0

    init(format: String, arguments: [Any?]) throws(PredicateFormatError) {
        scanner = PredicateScanner(format)
        token = try scanner.next()
        self.arguments = arguments
    }

    /// What parentheses can contain.
    private enum Node {
        case condition(PredicateCondition)
        case operand(PredicateExpression, offset: Int)
    }

    mutating func predicate() throws(PredicateFormatError) -> PredicateCondition {
        if token.kind == .end {
            throw PredicateFormatError(at: 0, "the predicate is empty: write TRUEPREDICATE for all items")
        }
        let node = try parseOr()
        guard token.kind == .end else {
            if case .operand = node { throw missingRelation() }
            throw PredicateFormatError(at: token.offset, "unexpected \(token.text): join comparisons with AND or OR")
        }
        return try condition(node)
    }

    /// Moves to the next token.
    /// - Returns: The one before.
    @discardableResult mutating func advance() throws(PredicateFormatError) -> PredicateToken {
        let previous = token
        token = try scanner.next()
        return previous
    }

    mutating func expect(_ symbol: String, _ sentence: String) throws(PredicateFormatError) {
        guard token.isSymbol(symbol) else { throw PredicateFormatError(at: token.offset, sentence) }
        try advance()
    }

    mutating func nested<Value>(
        _ body: (inout PredicateParser) throws(PredicateFormatError) -> Value
    ) throws(PredicateFormatError) -> Value {
        guard depth < MetadataPredicate.nestingLimit else {
            throw PredicateFormatError(
                at: token.offset, "nested deeper than \(MetadataPredicate.nestingLimit) levels: simplify the predicate")
        }
        depth += 1
        defer { depth -= 1 }
        return try body(&self)
    }

    /// The value of the next argument.
    mutating func argument(for placeholder: PredicateToken) throws(PredicateFormatError) -> Any? {
        guard usedArgumentCount < arguments.count else {
            throw PredicateFormatError(
                at: placeholder.offset,
                "there is no argument for this placeholder: \(arguments.count) given, this one needs another")
        }
        defer { usedArgumentCount += 1 }
        return arguments[usedArgumentCount]
    }

    // MARK: Conditions

    private mutating func parseOr() throws(PredicateFormatError) -> Node {
        try parseJoined(by: "OR", "||", { (parser) throws(PredicateFormatError) in try parser.parseAnd() }) { .or($0) }
    }

    private mutating func parseAnd() throws(PredicateFormatError) -> Node {
        try parseJoined(by: "AND", "&&", { (parser) throws(PredicateFormatError) in try parser.parseUnit() }) {
            .and($0)
        }
    }

    private mutating func parseJoined(
        by keyword: String, _ symbol: String, _ part: (inout PredicateParser) throws(PredicateFormatError) -> Node,
        _ join: ([PredicateCondition]) -> PredicateCondition
    ) throws(PredicateFormatError) -> Node {
        let first = try part(&self)
        guard token.keyword == keyword || token.isSymbol(symbol) else { return first }
        var conditions = [try condition(first)]
        while token.keyword == keyword || token.isSymbol(symbol) {
            try advance()
            // First the part, since ``condition(_:)`` reports the token after it.
            let next = try part(&self)
            conditions.append(try condition(next))
        }
        return .condition(join(conditions))
    }

    private func condition(_ node: Node) throws(PredicateFormatError) -> PredicateCondition {
        switch node {
        case .condition(let condition): condition
        case .operand: throw missingRelation()
        }
    }

    private func missingRelation() -> PredicateFormatError {
        PredicateFormatError(
            at: token.offset, "a comparison is missing before \(token.text): write for example == or CONTAINS")
    }

    private mutating func parseUnit() throws(PredicateFormatError) -> Node {
        if token.isSymbol("!") || token.keyword == "NOT" {
            try advance()
            return try nested { (parser) throws(PredicateFormatError) in
                let node = try parser.parseUnit()
                return .condition(.not(try parser.condition(node)))
            }
        }
        switch token.keyword {
        case "TRUEPREDICATE", "FALSEPREDICATE":
            return .condition(.constant(try advance().keyword == "TRUEPREDICATE"))
        case "ANY", "SOME", "ALL", "NONE": return try parseQuantified()
        default: break
        }
        let offset = token.offset
        guard token.isSymbol("(") else { return try parseComparison(try operand(), at: offset) }
        try advance()
        let inner = try nested { (parser) throws(PredicateFormatError) in try parser.parseOr() }
        guard token.isSymbol(")") else {
            if case .operand = inner, token.kind != .end { throw missingRelation() }
            throw PredicateFormatError(at: token.offset, "a closing parenthesis is missing before \(token.text)")
        }
        try advance()
        guard case .operand(let left, _) = inner else { return inner }
        return try parseComparison(left, at: offset)
    }

    private mutating func parseQuantified() throws(PredicateFormatError) -> Node {
        let quantifier: PredicateComparison.Quantifier =
            switch try advance().keyword {
            case "ALL": .all
            case "NONE": .none
            default: .any
            }
        let left = try operand()
        guard let comparison = try comparison(left, quantifier) else { throw missingRelation() }
        return .condition(.comparison(comparison))
    }

    private mutating func parseComparison(
        _ left: PredicateExpression, at offset: Int
    ) throws(PredicateFormatError) -> Node {
        guard let comparison = try comparison(left, nil) else { return .operand(left, offset: offset) }
        return .condition(.comparison(comparison))
    }
}

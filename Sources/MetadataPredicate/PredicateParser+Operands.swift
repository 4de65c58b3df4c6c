import Foundation

extension PredicateParser {
    /// A literal, a placeholder, a list or a key path.
    mutating func operand() throws(PredicateFormatError) -> PredicateExpression {
        let first = token
        switch first.kind {
        case .string(let text):
            try advance()
            return .constant(.string(text))
        case .integer(let number):
            try advance()
            return .constant(.integer(number))
        case .real(let number):
            try advance()
            return .constant(.real(number))
        case .symbol("-"): return try negativeNumber()
        case .symbol("{"): return try list()
        case .object:
            try advance()
            return .constant(PredicateValue(try argument(for: first)))
        case .integerPlaceholder(let text), .realPlaceholder(let text): return try number(text)
        case .key: return try keyArgument()
        case .escapedIdentifier(let name): return try path(from: name)
        case .identifier(let name): return try named(name)
        case .symbol, .end: throw PredicateFormatError(at: first.offset, missingOperand)
        }
    }

    private var missingOperand: String {
        "a value is missing before \(token.text): write an attribute's name, a number, a text in quotes or a placeholder"
    }

    private mutating func negativeNumber() throws(PredicateFormatError) -> PredicateExpression {
        let minus = try advance()
        switch token.kind {
        case .integer(let number):
            try advance()
            return .constant(.integer(-number))
        case .real(let number):
            try advance()
            return .constant(.real(-number))
        default: throw PredicateFormatError(at: minus.offset, "after a minus sign write a number")
        }
    }

    private mutating func list() throws(PredicateFormatError) -> PredicateExpression {
        try advance()
        var members: [PredicateExpression] = []
        while !token.isSymbol("}") {
            members.append(try nested { (parser) throws(PredicateFormatError) in try parser.operand() })
            if !token.isSymbol("}") { try expect(",", "in a list write , or } before \(token.text)") }
        }
        try advance()
        let constants = members.compactMap(\.constantValue)
        return constants.count == members.count ? .constant(.list(constants)) : .list(members)
    }

    // MARK: Placeholders

    /// `%d` or `%f`.
    private mutating func number(_ text: String) throws(PredicateFormatError) -> PredicateExpression {
        let placeholder = try advance()
        let argument = try argument(for: placeholder)
        let value = PredicateValue(argument)
        switch (placeholder.kind, value) {
        case (.realPlaceholder, .integer(let number)): return .constant(.real(Double(number)))
        case (.realPlaceholder, .real): return .constant(value)
        case (_, .integer): return .constant(value)
        case (_, .real(let number)) where Int64(exactly: number) != nil: return .constant(value)
        default:
            throw PredicateFormatError(
                at: placeholder.offset,
                "the argument of \(text) is not \(text.last == "f" ? "a number" : "an integer"): write %@")
        }
    }

    /// `%K`: a key path, which may go on after it.
    private mutating func keyArgument() throws(PredicateFormatError) -> PredicateExpression {
        let placeholder = try advance()
        guard case .string(let text) = PredicateValue(try argument(for: placeholder)), !text.isEmpty else {
            throw PredicateFormatError(
                at: placeholder.offset, "the argument of %K is not an attribute's name: write %@ for values")
        }
        var steps: [KeyStep] = []
        for name in text.split(separator: ".", omittingEmptySubsequences: false).map(String.init) {
            steps.append(try step(name, at: placeholder.offset))
        }
        return try path(steps, at: placeholder.offset)
    }

    // MARK: Names

    private mutating func named(_ name: String) throws(PredicateFormatError) -> PredicateExpression {
        switch token.keyword {
        case nil where name.hasPrefix("@"):
            throw PredicateFormatError(
                at: token.offset, "a collection operator follows a key path: write for example a.@count")
        case nil: return try path(from: name)
        case "TRUE", "YES":
            try advance()
            return .constant(.integer(1))
        case "FALSE", "NO":
            try advance()
            return .constant(.integer(0))
        case "NULL", "NIL":
            try advance()
            return .constant(.missing)
        case "SELF":
            let offset = try advance().offset
            return try path([], at: offset)
        case "SUBQUERY", "FUNCTION", "CAST", "TERNARY":
            throw PredicateFormatError(
                at: token.offset, "\(name) is not supported: compute the value, and pass it with %@")
        default:
            throw PredicateFormatError(
                at: token.offset,
                "\"\(name)\" is a reserved word, and a value is missing before it: for an attribute of this name "
                    + "write #\(name)")
        }
    }

    private mutating func path(from name: String) throws(PredicateFormatError) -> PredicateExpression {
        let offset = try advance().offset
        if token.isSymbol("(") {
            throw PredicateFormatError(
                at: offset, "functions are not supported: compute the value, and pass it with %@")
        }
        return try path([.key(name)], at: offset)
    }

    /// The rest of a key path: `.name` and `.@count`.
    private mutating func path(_ start: [KeyStep], at offset: Int) throws(PredicateFormatError) -> PredicateExpression {
        var steps = start
        if case .key(let name) = start.first { keys.append(MetadataPredicate.Key(name: name, offset: offset)) }
        while token.isSymbol(".") {
            try advance()
            guard token.kind != .key else {
                let placeholder = try advance()
                guard case .string(let text) = PredicateValue(try argument(for: placeholder)) else {
                    throw PredicateFormatError(at: placeholder.offset, "the argument of %K is not an attribute's name")
                }
                steps.append(try step(text, at: placeholder.offset))
                continue
            }
            switch token.kind {
            case .identifier(let name), .escapedIdentifier(let name): steps.append(try step(name, at: token.offset))
            default:
                throw PredicateFormatError(at: token.offset, "after a dot write a key, for example length or @count")
            }
            try advance()
        }
        if start.isEmpty, case .key(let name) = steps.first {
            // `SELF.name` is `name`.
            keys.append(MetadataPredicate.Key(name: name, offset: offset))
        }
        return .path(steps)
    }

    private func step(_ name: String, at offset: Int) throws(PredicateFormatError) -> KeyStep {
        if name.isEmpty {
            throw PredicateFormatError(at: offset, "a key path with an empty key: write names between the dots")
        }
        guard name.hasPrefix("@") else { return .key(name) }
        guard let operation = KeyStep.Operator(rawValue: String(name.dropFirst())) else {
            let known = KeyStep.Operator.allCases.map { "@\($0.rawValue)" }.joined(separator: ", ")
            throw PredicateFormatError(at: offset, "unknown collection operator \(name): write one of \(known)")
        }
        return .collection(operation)
    }
}

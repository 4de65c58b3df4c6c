/// A word of a predicate format.
struct PredicateToken: Equatable {
    enum Kind: Equatable {
        case identifier(String)
        /// `#in`: a name that would otherwise be a reserved word.
        case escapedIdentifier(String)
        case integer(Int64)
        case real(Double)
        case string(String)
        /// `%@`.
        case object
        /// `%K`.
        case key
        /// `%d`, `%lu` … as written.
        case integerPlaceholder(String)
        /// `%f`, `%lf` … as written.
        case realPlaceholder(String)
        case symbol(String)
        case end
    }

    var kind: Kind
    /// In Unicode scalars from the start of the format.
    var offset: Int

    /// As it can be shown in a sentence.
    var text: String {
        switch kind {
        case .identifier(let name): "\"\(name)\""
        case .escapedIdentifier(let name): "\"#\(name)\""
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .string: "a text in quotes"
        case .object: "%@"
        case .key: "%K"
        case .integerPlaceholder(let text), .realPlaceholder(let text): text
        case .symbol(let symbol): "\"\(symbol)\""
        case .end: "the end"
        }
    }

    func isSymbol(_ symbol: String) -> Bool { kind == .symbol(symbol) }

    /// The reserved word that it is, in capitals.
    var keyword: String? {
        guard case .identifier(let name) = kind else { return nil }
        let word = name.uppercased()
        return Self.keywords.contains(word) ? word : nil
    }

    private static let keywords: Set<String> = [
        "AND", "OR", "NOT", "IN", "BETWEEN", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "MATCHES",
        "UTI-CONFORMS-TO", "UTI-EQUALS", "ANY", "SOME", "ALL", "NONE", "TRUE", "YES", "FALSE", "NO", "NULL", "NIL",
        "SELF", "TRUEPREDICATE", "FALSEPREDICATE", "SUBQUERY", "FUNCTION", "CAST", "TERNARY",
    ]
}

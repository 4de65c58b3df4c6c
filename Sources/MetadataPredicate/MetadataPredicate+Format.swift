import Foundation

extension MetadataPredicate {
    /// The predicate in the format language, with its arguments in their places.
    ///
    /// Parsing it again gives the same predicate, unless it has dates, URLs or other objects as constants.
    package var format: String { condition.format(within: .nothing) }
}

extension PredicateCondition {
    /// What a condition is part of, in ascending order of how closely it binds.
    enum Surroundings: Int {
        case nothing, or, and, not
    }

    func format(within surroundings: Surroundings) -> String {
        switch self {
        case .constant(let value): value ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .not(let condition): "NOT \(condition.format(within: .not))"
        case .and(let conditions): Self.joined(conditions, " AND ", .and, within: surroundings)
        case .or(let conditions): Self.joined(conditions, " OR ", .or, within: surroundings)
        case .comparison(let comparison): comparison.format
        }
    }

    private static func joined(
        _ conditions: [PredicateCondition], _ word: String, _ own: Surroundings, within surroundings: Surroundings
    ) -> String {
        let text = conditions.map { $0.format(within: own) }.joined(separator: word)
        return surroundings.rawValue > own.rawValue ? "(\(text))" : text
    }
}

extension PredicateComparison {
    fileprivate var format: String {
        let quantifier =
            switch quantifier {
            case .any: "ANY "
            case .all: "ALL "
            case .some(.none): "NONE "
            case nil: ""
            }
        return "\(quantifier)\(left.format) \(relation.format)\(options.format) \(right.format)"
    }
}

extension PredicateComparison.Relation {
    fileprivate var format: String {
        switch self {
        case .equal: "=="
        case .notEqual: "!="
        case .less: "<"
        case .greater: ">"
        case .lessOrEqual: "<="
        case .greaterOrEqual: ">="
        case .between: "BETWEEN"
        case .isIn: "IN"
        case .beginsWith: "BEGINSWITH"
        case .endsWith: "ENDSWITH"
        case .contains: "CONTAINS"
        case .like: "LIKE"
        case .matches: "MATCHES"
        case .conformsToType: "UTI-CONFORMS-TO"
        case .equalsType: "UTI-EQUALS"
        }
    }
}

extension PredicateComparison.Options {
    fileprivate var format: String {
        let letters: [(PredicateComparison.Options, String)] = [
            (.caseInsensitive, "c"), (.diacriticInsensitive, "d"), (.normalized, "n"), (.localeSensitive, "l"),
        ]
        let text = letters.filter { contains($0.0) }.map(\.1).joined()
        return text.isEmpty ? "" : "[\(text)]"
    }
}

extension PredicateExpression {
    fileprivate var format: String {
        switch self {
        case .constant(let value): value.format
        case .list(let members): "{\(members.map(\.format).joined(separator: ", "))}"
        case .path(let steps): steps.isEmpty ? "SELF" : steps.map(\.format).joined(separator: ".")
        }
    }
}

extension KeyStep {
    fileprivate var format: String {
        switch self {
        case .key(let name):
            PredicateToken(kind: .identifier(name), offset: 0).keyword == nil ? name : "#\(name)"
        case .collection(let operation): "@\(operation.rawValue)"
        }
    }
}

extension PredicateValue {
    fileprivate var format: String {
        switch self {
        case .missing: "nil"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .string(let text): Self.quoted(text)
        case .date(let date): "CAST(\(String(format: "%.6f", date.timeIntervalSinceReferenceDate)), \"NSDate\")"
        case .url(let url): url.absoluteString
        case .list(let members): "{\(members.map(\.format).joined(separator: ", "))}"
        case .dictionary(let values): "\(values.keys.sorted())"
        case .other(let text): text
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case "\r": quoted += "\\r"
            case "%": quoted += "%%"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

import Foundation

extension PredicateValue {
    /// Whether both are equal: missing values are equal to each other, values of different types never are.
    func isEqual(to other: PredicateValue, options: PredicateComparison.Options = []) -> Bool {
        switch (self, other) {
        case (.missing, .missing): true
        case (.string(let left), .string(let right)): options.folded(left) == options.folded(right)
        case (.url(let left), .url(let right)): Self.text(of: left) == Self.text(of: right)
        case (.other(let left), .other(let right)): left == right
        case (.list(let left), .list(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isEqual(to: $1, options: options) }
        case (.dictionary(let left), .dictionary(let right)):
            left.count == right.count && left.allSatisfy { right[$0.key]?.isEqual(to: $0.value) == true }
        default: order(to: other, options: options) == .orderedSame
        }
    }

    /// - Returns: `nil` for values that have no order, or of different types.
    func order(to other: PredicateValue, options: PredicateComparison.Options = []) -> ComparisonResult? {
        switch (self, other) {
        case (.integer(let left), .integer(let right)): Self.order(left, right)
        case (.integer, .real), (.real, .integer), (.real, .real): Self.order(number ?? .nan, other.number ?? .nan)
        case (.date(let left), .date(let right)): Self.order(left, right)
        case (.string(let left), .string(let right)): options.order(left, right)
        default: nil
        }
    }

    static func order<Value: Comparable>(_ left: Value, _ right: Value) -> ComparisonResult? {
        if left == right { return .orderedSame }
        if left < right { return .orderedAscending }
        return left > right ? .orderedDescending : nil  // not a number
    }

    /// The slash at the end of a directory's URL makes no difference.
    private static func text(of url: URL) -> String {
        let text = url.absoluteString
        return url.isFileURL && text.hasSuffix("/") && text.count > 1 ? String(text.dropLast()) : text
    }
}

extension PredicateComparison.Options {
    /// The text in a form that makes the ignored differences vanish.
    func folded(_ text: String) -> String {
        guard !contains(.normalized) else { return text }
        var options: String.CompareOptions = []
        if contains(.caseInsensitive) { options.insert(.caseInsensitive) }
        if contains(.diacriticInsensitive) { options.insert(.diacriticInsensitive) }
        if options.isEmpty { return text }
        if options == .caseInsensitive, text.utf8.allSatisfy({ $0 < 0x80 }) { return text.lowercased() }
        return text.folding(options: options, locale: nil)
    }

    func order(_ left: String, _ right: String) -> ComparisonResult? {
        let left = folded(left)
        let right = folded(right)
        guard contains(.localeSensitive) else { return PredicateValue.order(left, right) }
        return left.compare(right, options: [], range: nil, locale: .current)
    }
}

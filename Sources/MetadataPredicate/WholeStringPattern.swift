import Foundation

/// A regular expression that must match a whole string.
struct WholeStringPattern: Sendable {
    private let expression: NSRegularExpression

    /// - Returns: `nil` for an invalid expression.
    init?(_ pattern: String, options: PredicateComparison.Options) {
        let isFolded = options.contains(.caseInsensitive) && !options.contains(.normalized)
        // The line end closes a comment in an expression with comments.
        let whole = pattern.contains("(?x") ? "(?:\(pattern)\n)\\z" : "(?:\(pattern))\\z"
        // By itself too: `)(` would be valid in the parentheses only.
        guard (try? NSRegularExpression(pattern: pattern)) != nil,
            let expression = try? NSRegularExpression(pattern: whole, options: isFolded ? .caseInsensitive : [])
        else { return nil }
        self.expression = expression
    }

    func matches(_ text: String) -> Bool {
        let range = NSRange(location: 0, length: text.utf16.count)
        return expression.firstMatch(in: text, options: .anchored, range: range) != nil
    }
}

/// A rule for which files are local, which a user sets for a mount, or for a directory and everything in it.
///
/// Of the directories above an item, the nearest with a limit of its own decides, and the mount where none has one.
package enum DirectoryRule: String, Hashable, Sendable, CaseIterable, Codable {
    /// How long a file may go without use before it is evicted.
    case evictAfter = "evict_after"
    /// How recently a file must have been used for the limits of the cache not to evict it.
    case keepRecent = "keep_recent"
    /// How long a file may be to come by itself.
    case downloadSmall = "download_small"

    /// The most directories with limits of their own.
    package static let directoryLimit = 10_000

    /// The value of a rule.
    package struct Limit: Hashable, Comparable, Sendable {
        /// Milliseconds, or bytes for ``DirectoryRule/downloadSmall``; 0 when the rule is off.
        package let number: Int64

        package init(number: Int64) { self.number = number }

        package init(_ duration: Duration?) { number = duration.map { Int64($0 / .milliseconds(1)) } ?? 0 }

        package static let off = Limit(number: 0)

        /// `nil` when the rule is off.
        package var duration: Duration? { number > 0 ? .milliseconds(number) : nil }

        package static func < (left: Limit, right: Limit) -> Bool { left.number < right.number }
    }

    /// The word for a rule that does not apply.
    package static let off = "off"

    /// The durations that a rule may have: 60s to 3650d.
    package static let durations = Duration.seconds(60)...(.seconds(3650 * 86_400))
    /// The sizes that a rule may have: 1K to 1024P, in bytes.
    package static let sizes: ClosedRange<Int64> = 1024...(1 << 60)

    /// - Parameter text: A DURATION or SIZE as of the mount option of that name, or `off`.
    /// - Throws: ``FileError`` with `invalid`, and a sentence with what is accepted.
    package func limit(_ text: String) throws(FileError) -> Limit {
        if text.utf8.elementsEqual(Self.off.utf8) { return .off }
        let number = self == .downloadSmall ? Quantity.byteCount(text) : Quantity.milliseconds(text)
        if let number, numbers ~= number { return Limit(number: number) }
        throw FileError(.invalid, "\(rawValue) is \(accepted), not \(text.printable)")
    }

    /// What ``limit(_:)`` takes, in words.
    package var accepted: String {
        switch self {
        case .evictAfter, .keepRecent:
            "off, or a whole number with s, m, h or d, 60s to 3650d, as in 30d"
        case .downloadSmall:
            "off, or a whole number with K, M, G or T, 1K or more, as in 500K"
        }
    }

    private var numbers: ClosedRange<Int64> {
        let (least, most) = (Limit(Self.durations.lowerBound), Limit(Self.durations.upperBound))
        return self == .downloadSmall ? Self.sizes : least.number...most.number
    }

    /// In the form that ``limit(_:)`` takes.
    package func text(_ limit: Limit) -> String {
        if limit == .off { return Self.off }
        return self == .downloadSmall
            ? Quantity.text(byteCount: limit.number) : Quantity.text(milliseconds: limit.number)
    }
}

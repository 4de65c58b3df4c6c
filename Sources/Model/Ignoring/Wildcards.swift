/// Matches a text with a pattern of `*`, `**`, `?`, `[…]` and `\`. A port of git's `wildmatch.c`, so that patterns mean
/// what they mean for git, down to those that are malformed.
struct Wildcards {
    private let pattern: [UInt8]
    /// Whether only `**` matches a slash.
    private let respectsSlashes: Bool

    init(_ pattern: ArraySlice<UInt8>, respectsSlashes: Bool) {
        self.pattern = Array(pattern)
        self.respectsSlashes = respectsSlashes
    }

    func match(_ text: ArraySlice<UInt8>) -> Bool { match(0, 0, Array(text), 0) == .match }

    private enum Outcome {
        case match, noMatch
        /// No later position of an enclosing `*` can match either.
        case abort
        /// Nor can one of an enclosing `*`, but one of an enclosing `**`.
        case abortToDoubleStar
    }

    private static let slash = UInt8(ascii: "/")

    /// The byte of the pattern at an index; zero at its end.
    private func byte(_ index: Int) -> UInt8 { index < pattern.count ? pattern[index] : 0 }

    /// - Parameter origin: Where the pattern begins for this level of the recursion: `**` counts there as if a slash were
    ///   in front of it.
    private func match(_ start: Int, _ origin: Int, _ text: [UInt8], _ textStart: Int) -> Outcome {
        var (index, place) = (start, textStart)
        while index < pattern.count {
            if place == text.count, byte(index) != UInt8(ascii: "*") { return .abort }
            switch byte(index) {
            case UInt8(ascii: "*"):
                switch star(index, origin, text, place) {
                case .ended(let outcome): return outcome
                case .continued(let next, let nextPlace): (index, place) = (next, nextPlace)
                }
                continue
            case UInt8(ascii: "?"):
                if respectsSlashes, text[place] == Self.slash { return .noMatch }
            case UInt8(ascii: "["):
                guard let (matches, end) = set(index, contains: text[place]) else { return .abort }
                if !matches || (respectsSlashes && text[place] == Self.slash) { return .noMatch }
                index = end
            case UInt8(ascii: "\\"):
                index += 1
                if byte(index) != text[place] || index >= pattern.count { return .noMatch }
            default:
                if byte(index) != text[place] { return .noMatch }
            }
            index += 1
            place += 1
        }
        return place == text.count ? .match : .noMatch
    }

    private enum StarOutcome {
        case ended(Outcome)
        /// Where pattern and text go on.
        case continued(Int, Int)
    }

    private func star(_ start: Int, _ origin: Int, _ text: [UInt8], _ textStart: Int) -> StarOutcome {
        var (index, place) = (start + 1, textStart)
        var matchesSlashes = !respectsSlashes
        if byte(index) == UInt8(ascii: "*") {
            while byte(index) == UInt8(ascii: "*") { index += 1 }
            let isAtStart = start == origin || byte(start - 1) == Self.slash
            let isAtEnd =
                index >= pattern.count || byte(index) == Self.slash
                || (byte(index) == UInt8(ascii: "\\") && byte(index + 1) == Self.slash)
            if respectsSlashes, isAtStart, isAtEnd {
                // `**/` may stand for no directory at all.
                if byte(index) == Self.slash, match(index + 1, index + 1, text, place) == .match {
                    return .ended(.match)
                }
                matchesSlashes = true
            }
        }
        if index >= pattern.count {
            return .ended(matchesSlashes || !text[place...].contains(Self.slash) ? .match : .noMatch)
        }
        if !matchesSlashes, byte(index) == Self.slash {
            // `*/` stands for the rest of this name.
            guard let slash = text[place...].firstIndex(of: Self.slash) else { return .ended(.noMatch) }
            return .continued(index + 1, slash + 1)
        }
        while place < text.count {
            let outcome = match(index, index, text, place)
            if outcome != .noMatch {
                if !matchesSlashes || outcome != .abortToDoubleStar { return .ended(outcome) }
            } else if !matchesSlashes, text[place] == Self.slash {
                return .ended(.abortToDoubleStar)
            }
            place += 1
        }
        return .ended(.abort)
    }

    /// Whether a set such as `[a-z[:digit:]]` contains a byte, and the index of its `]`.
    ///
    /// - Returns: `nil` for a set that does not end.
    private func set(_ start: Int, contains byte: UInt8) -> (Bool, Int)? {
        var index = start + 1
        let isNegated = self.byte(index) == UInt8(ascii: "!") || self.byte(index) == UInt8(ascii: "^")
        if isNegated { index += 1 }
        var (previous, matches) = (UInt8(0), false)
        repeat {
            guard index < pattern.count else { return nil }
            var current = self.byte(index)
            switch current {
            case UInt8(ascii: "\\"):
                index += 1
                guard index < pattern.count else { return nil }
                current = self.byte(index)
                if current == byte { matches = true }
            case UInt8(ascii: "-")
            where previous != 0 && index + 1 < pattern.count && self.byte(index + 1) != UInt8(ascii: "]"):
                index += 1
                if self.byte(index) == UInt8(ascii: "\\") { index += 1 }
                guard index < pattern.count else { return nil }
                if previous <= byte, byte <= self.byte(index) { matches = true }
                current = 0
            case UInt8(ascii: "[") where self.byte(index + 1) == UInt8(ascii: ":"):
                guard let end = pattern[(index + 2)...].firstIndex(of: UInt8(ascii: "]")) else { return nil }
                if end > index + 2, pattern[end - 1] == UInt8(ascii: ":") {
                    guard let contains = Self.classes[String(decoding: pattern[(index + 2)..<(end - 1)], as: UTF8.self)]
                    else { return nil }
                    if contains(byte) { matches = true }
                    index = end
                    current = 0
                } else if byte == UInt8(ascii: "[") {
                    matches = true
                }
            default:
                if current == byte { matches = true }
            }
            previous = current
            index += 1
        } while self.byte(index) != UInt8(ascii: "]") || index >= pattern.count
        return (matches != isNegated, index)
    }

    /// As in the C locale.
    private static let classes: [String: @Sendable (UInt8) -> Bool] = [
        "alnum": { isLetter($0) || isDigit($0) }, "alpha": isLetter, "blank": { $0 == 0x20 || $0 == 0x09 },
        "cntrl": { $0 < 0x20 || $0 == 0x7f }, "digit": isDigit, "graph": isGraphic, "lower": isLower,
        "print": { $0 == 0x20 || isGraphic($0) },
        "punct": { isGraphic($0) && !isLetter($0) && !isDigit($0) },
        "space": { $0 == 0x20 || 0x09...0x0d ~= $0 }, "upper": isUpper,
        "xdigit": { isDigit($0) || 0x41...0x46 ~= $0 || 0x61...0x66 ~= $0 },
    ]

    @Sendable private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }
    @Sendable private static func isUpper(_ byte: UInt8) -> Bool { 0x41...0x5a ~= byte }
    @Sendable private static func isLower(_ byte: UInt8) -> Bool { 0x61...0x7a ~= byte }
    @Sendable private static func isLetter(_ byte: UInt8) -> Bool { isUpper(byte) || isLower(byte) }
    @Sendable private static func isGraphic(_ byte: UInt8) -> Bool { 0x21...0x7e ~= byte }
}

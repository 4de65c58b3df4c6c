/// What `hasPrefix`, `hasSuffix`, `==` and `split` do by characters, by bytes: for text that others have made.
extension StringProtocol {
    package func hasBytePrefix(_ prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }

    package func hasByteSuffix(_ suffix: String) -> Bool { utf8.reversed().starts(with: suffix.utf8.reversed()) }

    package func isBytewiseEqual(to other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }

    /// The rest after a number of bytes, which end a character's encoding: for what follows a known prefix.
    package func droppingBytes(_ count: Int) -> String { String(decoding: utf8.dropFirst(count), as: UTF8.self) }
}

extension StringProtocol where SubSequence == Substring {
    package func splitBytes(
        at separator: UInt8, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true
    ) -> [Substring] {
        utf8.split(separator: separator, maxSplits: maxSplits, omittingEmptySubsequences: omittingEmptySubsequences)
            .map { Substring(decoding: $0, as: UTF8.self) }
    }
}

package import Model

extension Content {
    /// The longest file that is accepted: 16 TiB, the limit of ext4.
    package static let byteLimit: Int64 = 1 << 44

    /// The highest offset of a byte in a pack: no sum that a reader computes with it can overflow.
    package static let offsetLimit: Int64 = 1 << 62

    /// How a chunk list from another device violates the format, or `nil` when it is valid.
    ///
    /// In a valid list ``byteCount`` and ``pieces`` cannot overflow.
    package var fault: String? {
        var total: Int64 = 0
        for (index, run) in runs.enumerated() {
            let isLast = index == runs.count - 1
            let found: (fault: String?, byteCount: Int64) =
                switch run {
                case .zeros(let byteCount): (Self.faultOfZeros(byteCount, isLast: isLast), byteCount)
                case .stored(_, let offset, let chunks): Self.check(offset: offset, chunks: chunks, isLast: isLast)
                }
            if let fault = found.fault { return "run \(index): \(fault)" }
            // Both are at most the limit here, so the sum cannot overflow.
            total += found.byteCount
            guard total <= Self.byteLimit else { return "longer than \(Self.byteLimit) bytes" }
        }
        return nil
    }

    private static func faultOfZeros(_ byteCount: Int64, isLast: Bool) -> String? {
        guard (1...byteLimit).contains(byteCount) else { return "a hole of \(byteCount) bytes" }
        guard isLast || byteCount % Int64(chunkByteCount) == 0 else {
            return "a \(byteCount)-byte hole before the end of the file"
        }
        return nil
    }

    private static func check(offset: Int64, chunks: [Chunk], isLast: Bool) -> (fault: String?, byteCount: Int64) {
        guard !chunks.isEmpty else { return ("no chunks", 0) }
        var byteCount: Int64 = 0
        for (index, chunk) in chunks.enumerated() {
            guard (1...chunkByteCount).contains(chunk.byteCount) else {
                return ("a chunk of \(chunk.byteCount) bytes", 0)
            }
            guard chunk.byteCount == chunkByteCount || (isLast && index == chunks.count - 1) else {
                return ("a \(chunk.byteCount)-byte chunk before the end of the file", 0)
            }
            byteCount += Int64(chunk.byteCount)
            guard byteCount <= byteLimit else { return ("longer than \(byteLimit) bytes", 0) }
        }
        guard offset >= 0, offset <= offsetLimit - byteCount else { return ("an offset of \(offset)", 0) }
        return (nil, byteCount)
    }
}

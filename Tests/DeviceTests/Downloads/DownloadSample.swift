import Foundation
import Model
import Remote
import Testing

@testable import FileSystem

/// A file to download, without a store: three pieces in a pack, a hole of one piece, and three more in another pack, of
/// which the last is short.
enum DownloadSample {
    static let unit = Int64(Content.chunkByteCount)
    static let byteCount = 6 * unit + 1000
    /// The pieces that are not a hole.
    static let stored = [0, 1, 2, 4, 5, 6]
    static let hole = 3

    static let content = Content(runs: [
        .stored(pack: PackID(uuid: UUID()), offset: 0, chunks: (0..<3).map { chunk($0, hasHead: $0 == 0) }),
        .zeros(byteCount: unit),
        .stored(pack: PackID(uuid: UUID()), offset: 77, chunks: (4..<7).map { chunk($0) }),
    ])

    /// The bytes of each piece; those of the hole do not matter.
    static let pieces: [[UInt8]] = {
        let pattern = (0..<251).map { UInt8($0) }
        let bytes = Array(Array(repeating: pattern, count: Int(byteCount) / 251 + 1).joined())
        return (0..<7).map { Array(bytes[Int($0 * unit)..<Int(min($0 * unit + unit, byteCount))]) }
    }()

    static var head: [UInt8] { Array(pieces[0].prefix(Content.headByteCount)) }

    private static func chunk(_ index: Int, hasHead: Bool = false) -> Content.Chunk {
        let hash = ChunkHash(hashing: [UInt8(index)])
        return Content.Chunk(hash: hash, byteCount: index == 6 ? 1000 : Int(unit), head: hasHead ? hash : nil)
    }

    /// Whether these are the bytes of a range.
    static func matches(_ bytes: ArraySlice<UInt8>, _ range: Range<Int64>) -> Bool {
        guard bytes.count == range.count, let first = bytes.first, let last = bytes.last else { return false }
        return first == UInt8(range.lowerBound % 251) && last == UInt8((range.upperBound - 1) % 251)
    }
}

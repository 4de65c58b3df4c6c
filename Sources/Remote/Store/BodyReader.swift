import Linux
import Model

/// Reads a body piece by piece, from any offset and any number of times, for callers that must not block.
package final class BodyReader: Sendable {
    package let byteCount: Int64
    private let key: String
    private let source: Source

    private enum Source: Sendable {
        /// With the offset at which each piece ends.
        case pieces([[UInt8]], ends: [Int64])
        case file(Descriptor, path: String, start: Int64)
    }

    /// Threads for all files that are being sent.
    private static let queue = BlockingQueue(name: "dewpoint.body")

    /// - Parameter key: The object's key, for errors.
    /// - Throws: ``StoreError`` with `invalid` when the file cannot be read.
    package static func open(_ body: Body, key: String) async throws(StoreError) -> BodyReader {
        switch body {
        case .bytes(let bytes): return BodyReader([bytes], key)
        case .pieces(let pieces): return BodyReader(pieces, key)
        case .file(let path, let range):
            let file = try await queue.run { () throws(StoreError) in
                do throws(FileError) { return try Descriptor(path) } catch {
                    throw StoreError(.invalid, key: key, "cannot read \(path): \(error.sentence)")
                }
            }
            return BodyReader(.file(file, path: path, start: range.lowerBound), byteCount: body.byteCount, key: key)
        case .nameless(let nameless, let byteCount):
            return BodyReader(
                .file(nameless.file, path: nameless.description, start: 0), byteCount: byteCount, key: key)
        }
    }

    private convenience init(_ pieces: [[UInt8]], _ key: String) {
        var ends: [Int64] = []
        var end: Int64 = 0
        for piece in pieces {
            end += Int64(piece.count)
            ends.append(end)
        }
        self.init(.pieces(pieces, ends: ends), byteCount: end, key: key)
    }

    private init(_ source: Source, byteCount: Int64, key: String) {
        self.source = source
        self.byteCount = byteCount
        self.key = key
    }

    /// Bytes at the beginning of a range, without a copy where they are in memory.
    ///
    /// - Parameters:
    ///   - range: Within the body, not empty.
    /// - Returns: At least one byte; fewer than the range has when they are in several pieces.
    /// - Throws: ``StoreError`` with `invalid` when the file is shorter than stated.
    package func start(of range: Range<Int64>) async throws(StoreError) -> ArraySlice<UInt8> {
        switch source {
        case .pieces(let pieces, let ends):
            let index = Self.firstIndex(in: ends, after: range.lowerBound)
            let begin = ends[index] - Int64(pieces[index].count)
            let end = min(range.upperBound, ends[index])
            return pieces[index][Int(range.lowerBound - begin)..<Int(end - begin)]
        case .file(let file, let path, let start):
            return try await Self.queue.run { [key] () throws(StoreError) in
                let piece: [UInt8]
                do throws(FileError) {
                    piece = try file.read(byteCount: range.count, at: start + range.lowerBound)
                } catch {
                    throw StoreError(.invalid, key: key, "cannot read \(path): \(error.sentence)")
                }
                guard piece.count == range.count else {
                    throw StoreError(.invalid, key: key, "\(path) was truncated while it was being sent")
                }
                return piece[...]
            }
        }
    }

    /// - Returns: The index of the first number that is greater; the numbers ascend.
    private static func firstIndex(in ends: [Int64], after offset: Int64) -> Int {
        var range = 0..<ends.count
        while range.count > 1 {
            let middle = range.lowerBound + range.count / 2
            if ends[middle - 1] > offset {
                range = range.lowerBound..<middle
            } else {
                range = middle..<range.upperBound
            }
        }
        return range.lowerBound
    }

    /// All bytes of a range, which a caller wants in one piece: it is short.
    ///
    /// - Throws: as ``start(of:)``.
    package func bytes(in range: Range<Int64>) async throws(StoreError) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = range
        while !rest.isEmpty {
            let piece = try await start(of: rest)
            bytes.append(contentsOf: piece)
            rest = rest.lowerBound + Int64(piece.count)..<rest.upperBound
        }
        return bytes
    }
}

import Linux
import Model

/// Reads a body piece by piece, from any offset and any number of times, for callers that must not block.
package final class BodyReader: Sendable {
    package let byteCount: Int64
    private let key: String
    private let source: Source

    private enum Source: Sendable {
        case bytes([UInt8])
        case file(Descriptor, path: String, start: Int64)
    }

    /// Threads for all files that are being sent.
    private static let queue = BlockingQueue(name: "dewpoint.body")

    /// - Parameter key: The object's key, for errors.
    /// - Throws: ``StoreError`` with `invalid` when the file cannot be read.
    package static func open(_ body: Body, key: String) async throws(StoreError) -> BodyReader {
        switch body {
        case .bytes(let bytes): return BodyReader(.bytes(bytes), byteCount: body.byteCount, key: key)
        case .file(let path, let range):
            let file = try await queue.run { () throws(StoreError) in
                do throws(FileError) { return try Descriptor(path) } catch {
                    throw StoreError(.invalid, key: key, "cannot read \(path): \(error.sentence)")
                }
            }
            return BodyReader(.file(file, path: path, start: range.lowerBound), byteCount: body.byteCount, key: key)
        }
    }

    private init(_ source: Source, byteCount: Int64, key: String) {
        self.source = source
        self.byteCount = byteCount
        self.key = key
    }

    /// - Parameters:
    ///   - range: Within the body.
    /// - Throws: ``StoreError`` with `invalid` when the file is shorter than stated.
    package func bytes(in range: Range<Int64>) async throws(StoreError) -> [UInt8] {
        switch source {
        case .bytes(let bytes): return Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
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
                return piece
            }
        }
    }
}

package import Linux
import Model

/// The data of a write: bytes in memory, in one piece or in several, or a part of a local file that is read while it is
/// sent.
package enum Body: Sendable {
    case bytes([UInt8])
    /// One after another.
    case pieces([[UInt8]])
    /// The file must not change meanwhile.
    case file(path: String, range: Range<Int64>)
    /// A whole file that nobody else can open.
    case nameless(NamelessFile, byteCount: Int64)

    package var byteCount: Int64 {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .pieces(let pieces): pieces.reduce(0) { $0 + Int64($1.count) }
        case .file(_, let range): range.upperBound - range.lowerBound
        case .nameless(_, let byteCount): byteCount
        }
    }

    /// How much of a file is read at a time: 1 MiB.
    static let pieceByteCount = 1 << 20

    /// Passes on the body in pieces of at most ``pieceByteCount``. Blocks: only for threads that may.
    ///
    /// - Throws: ``StoreError`` with `invalid` when the file cannot be read or is shorter than its range.
    package func forEachPiece(
        key: String, _ handle: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        switch self {
        case .bytes(let bytes): try Self.handle(bytes, handle)
        case .pieces(let pieces): for piece in pieces { try Self.handle(piece, handle) }
        case .file(let path, let range):
            let file: Descriptor
            do throws(FileError) { file = try Descriptor(path) } catch {
                throw StoreError(.invalid, key: key, "cannot read \(path): \(error.sentence)")
            }
            try Self.forEachPiece(of: file, path, range, key: key, handle)
        case .nameless(let nameless, let byteCount):
            try Self.forEachPiece(of: nameless.file, nameless.description, 0..<byteCount, key: key, handle)
        }
    }

    private static func forEachPiece(
        of file: Descriptor, _ name: String, _ range: Range<Int64>, key: String,
        _ handle: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        var offset = range.lowerBound
        while offset < range.upperBound {
            let piece: [UInt8]
            do throws(FileError) {
                piece = try file.read(
                    byteCount: Int(min(range.upperBound - offset, Int64(pieceByteCount))), at: offset)
            } catch {
                throw StoreError(.invalid, key: key, "cannot read \(name): \(error.sentence)")
            }
            guard !piece.isEmpty else {
                throw StoreError(.invalid, key: key, "\(name) was truncated while it was being sent")
            }
            offset += Int64(piece.count)
            try Self.handle(piece, handle)
        }
    }

    private static func handle(
        _ bytes: [UInt8], _ handle: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        // Closures passed through a rethrowing call lose the error's type, hence the Result.
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(StoreError) in try handle(buffer) }
        }
        try result.get()
    }
}

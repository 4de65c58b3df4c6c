import CZlib
import Crypto
import Glibc
import Linux
import Model

extension Gzip {
    /// How much of a file is read at a time: 1 MiB.
    private static let readByteCount = 1 << 20

    /// Compresses a file into another, with the SHA-256 of the uncompressed bytes as the member's comment (RFC 1952,
    /// section 2.3.1). Blocks.
    ///
    /// - Parameter target: A file that does not exist.
    /// - Returns: The length of the compressed file in bytes.
    static func compress(file source: String, to target: String) throws(FileError) -> Int64 {
        let input = try Descriptor(source, O_RDONLY)
        let output = try Descriptor(target, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        let zlib = ZlibStream.packing(comment: try hash(of: input).description)
        var offset: Int64 = 0
        var byteCount: Int64 = 0
        var isLast = false
        while !isLast {
            let piece = try input.read(byteCount: readByteCount, at: offset)
            offset += Int64(piece.count)
            isLast = piece.count < readByteCount
            let flush = isLast ? Z_FINISH : Z_NO_FLUSH
            try zlib.feed(piece) { (stream) throws(FileError) in
                deflate(stream, flush)
                // Unused output space means that this piece is finished.
                return stream.pointee.avail_out > 0
            } _: { (bytes) throws(FileError) in
                try output.append(bytes)
                byteCount += Int64(bytes.count)
            }
        }
        return byteCount
    }

    private static func hash(of file: Descriptor) throws(FileError) -> ChunkHash {
        var digest = SHA256()
        var offset: Int64 = 0
        while true {
            let piece = try file.read(byteCount: readByteCount, at: offset)
            guard !piece.isEmpty else { return ChunkHash(digest: digest.finalize()) }
            digest.update(data: piece)
            offset += Int64(piece.count)
        }
    }
}

/// Decompresses a gzip member that arrives in pieces, and verifies it: by its checksum and length, and by the SHA-256
/// in its comment. Not for use by several threads at once.
final class GzipUnpacker {
    enum Failure: Error {
        /// Truncated, a wrong checksum, trailing data, or a missing or wrong SHA-256.
        case damaged
        /// The output exceeds the limit.
        case tooLong
        case notWritten(FileError)
    }

    private let zlib = ZlibStream.unpacking(commentByteLimit: 2 * ChunkHash.byteCount)
    private var digest = SHA256()
    private var isEnded = false
    private var byteCount: Int64 = 0
    /// How many bytes were consumed.
    private var packedByteCount: Int64 = 0
    private let limit: Int64

    /// How many output bytes are allowed for each input byte, beyond the first ``freeByteCount``. SQLite's pages give
    /// some ten.
    static let ratioLimit: Int64 = 64
    /// 64 MiB.
    static let freeByteCount: Int64 = 64 << 20

    /// - Parameter limit: The maximum number of output bytes.
    init(limit: Int64) { self.limit = limit }

    /// Consumes the next piece and passes on its output.
    func take(
        _ piece: [UInt8], _ handle: (UnsafeRawBufferPointer) throws(FileError) -> Void
    ) throws(Failure) {
        guard !piece.isEmpty else { return }
        // One member without trailing data.
        guard !isEnded else { throw .damaged }
        packedByteCount += Int64(piece.count)
        let limit = min(limit, Self.freeByteCount + packedByteCount * Self.ratioLimit)
        try zlib.feed(piece) { (stream) throws(Failure) in
            let result = inflate(stream, Z_NO_FLUSH)
            isEnded = result == Z_STREAM_END
            if isEnded {
                guard stream.pointee.avail_in == 0 else { throw .damaged }
                return true
            }
            // Z_BUF_ERROR: no progress was possible, since the piece and its output space were used up together.
            guard result == Z_OK || result == Z_BUF_ERROR else { throw .damaged }
            return stream.pointee.avail_in == 0 && stream.pointee.avail_out > 0
        } _: { (bytes) throws(Failure) in
            byteCount += Int64(bytes.count)
            guard byteCount <= limit else { throw .tooLong }
            digest.update(bufferPointer: bytes)
            do throws(FileError) { try handle(bytes) } catch { throw .notWritten(error) }
        }
    }

    /// Ends the member.
    ///
    /// - Throws: `damaged` when it was truncated, or its bytes do not match the comment.
    func finish() throws(Failure) {
        guard isEnded, zlib.comment == ChunkHash(digest: digest.finalize()).description else { throw .damaged }
    }
}

import Crypto
package import Model

extension ChunkHash {
    /// The SHA-256 of `bytes`.
    package init(hashing bytes: UnsafeRawBufferPointer) {
        var hasher = SHA256()
        hasher.update(bufferPointer: bytes)
        self.init(digest: hasher.finalize())
    }

    /// The SHA-256 of `bytes`.
    package init(hashing bytes: [UInt8]) {
        self = bytes.withUnsafeBytes { ChunkHash(hashing: $0) }
    }

    /// The hash of a chunk's head that its writer records: for a file's first chunk, when it is a whole one.
    ///
    /// - Parameter index: The number of the chunk in the file.
    package init?(headOf chunk: [UInt8], index: Int) {
        guard index == 0, chunk.count == Content.chunkByteCount else { return nil }
        self = chunk.withUnsafeBytes {
            ChunkHash(hashing: UnsafeRawBufferPointer(rebasing: $0[..<Content.headByteCount]))
        }
    }

    init(digest: SHA256.Digest) {
        guard let hash = ChunkHash(bytes: digest) else { preconditionFailure("a SHA-256 has 32 bytes") }
        self = hash
    }
}

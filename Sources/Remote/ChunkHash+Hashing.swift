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

    init(digest: SHA256.Digest) {
        guard let hash = ChunkHash(bytes: digest) else { preconditionFailure("a SHA-256 has 32 bytes") }
        self = hash
    }
}

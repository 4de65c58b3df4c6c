import Crypto
import Foundation
import Remote

/// The two hashes that go with what is sent, so that bytes that change on the way are refused.
///
/// The signature covers the SHA-256, which every S3 service must check. The MD5 stands in `Content-MD5`, the one checksum
/// header that all services know (newer ones, `x-amz-checksum-…`, are refused by some) and that buckets with object lock ask
/// for.
struct PayloadHash: Hashable, Sendable {
    /// In hex.
    let sha256: String
    /// 16 bytes.
    let md5: [UInt8]

    static let empty = PayloadHash([])

    /// How much is hashed at a time: 1 MiB.
    private static let pieceByteCount: Int64 = 1 << 20

    init(sha256: String, md5: [UInt8]) {
        self.sha256 = sha256
        self.md5 = md5
    }

    init(_ bytes: [UInt8]) {
        sha256 = Hex.text(SHA256.hash(data: bytes))
        md5 = Array(Insecure.MD5.hash(data: bytes))
    }

    /// Reads a part of a body once.
    init(_ reader: BodyReader, _ range: Range<Int64>) async throws(StoreError) {
        var sha256 = SHA256()
        var md5 = Insecure.MD5()
        var offset = range.lowerBound
        while offset < range.upperBound {
            let piece = try await reader.bytes(in: offset..<min(range.upperBound, offset + Self.pieceByteCount))
            sha256.update(data: piece)
            md5.update(data: piece)
            offset += Int64(piece.count)
        }
        self.sha256 = Hex.text(sha256.finalize())
        self.md5 = Array(md5.finalize())
    }

    /// As `Content-MD5` has it.
    var md5Header: String { Data(md5).base64EncodedString() }
}

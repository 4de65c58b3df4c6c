import Crypto
import Foundation
import Remote

/// The hash that is sent with data, so that bytes that change in transit are refused: the signature covers it, and
/// every S3 service must check it.
struct PayloadHash: Hashable, Sendable {
    /// In hex.
    let sha256: String

    static let empty = PayloadHash([])

    init(sha256: String) { self.sha256 = sha256 }

    init(_ bytes: [UInt8]) { sha256 = Hex.text(SHA256.hash(data: bytes)) }

    /// Reads a part of a body once.
    init(_ reader: BodyReader, _ range: Range<Int64>) async throws(StoreError) {
        sha256 = Hex.text(try await Self.hash(reader, range, SHA256()))
    }

    /// The value of `Content-MD5` in a request to a bucket that requires it, such as one with object lock: 16 bytes in
    /// base 64.
    ///
    /// It adds no protection to that of the signature, and takes as long as all other steps together: it is sent on
    /// demand only.
    /// - Returns: `nil` for a request without a body.
    static func md5(of payload: S3Request.Payload) async throws(StoreError) -> String? {
        switch payload {
        case .none: nil
        case .bytes(let bytes, _): Data(Insecure.MD5.hash(data: bytes)).base64EncodedString()
        case .part(let reader, let range, _):
            Data(try await hash(reader, range, Insecure.MD5())).base64EncodedString()
        }
    }

    /// The most bytes that are hashed at a time: 1 MiB.
    private static let pieceByteCount: Int64 = 1 << 20

    private static func hash<Hash: HashFunction>(
        _ reader: BodyReader, _ range: Range<Int64>, _ start: Hash
    ) async throws(StoreError) -> Hash.Digest {
        var hash = start
        var offset = range.lowerBound
        while offset < range.upperBound {
            let piece = try await reader.start(of: offset..<min(range.upperBound, offset + pieceByteCount))
            hash.update(data: piece)
            offset += Int64(piece.count)
        }
        return hash.finalize()
    }
}

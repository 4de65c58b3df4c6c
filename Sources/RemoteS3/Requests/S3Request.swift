import NIOHTTP1
import Remote

/// One request to the store, before it is addressed and signed.
struct S3Request: Sendable {
    var method: HTTPMethod
    /// The full key; `nil` for the bucket itself.
    var key: String?
    var query: [(name: String, value: String)] = []
    var headers: [(name: String, value: String)] = []
    var payload = Payload.none
    /// Whether the status of the response says too little: the store begins to answer before it has done the work, and
    /// the body says how it ended.
    var isAnsweredInBody = false

    /// The body, with its hash: the signature needs it before the first byte is sent.
    enum Payload: Sendable {
        case none
        case bytes([UInt8], PayloadHash)
        case part(BodyReader, Range<Int64>, PayloadHash)

        var hash: PayloadHash {
            switch self {
            case .none: .empty
            case .bytes(_, let hash), .part(_, _, let hash): hash
            }
        }

        var byteCount: Int64 {
            switch self {
            case .none: 0
            case .bytes(let bytes, _): Int64(bytes.count)
            case .part(_, let range, _): range.upperBound - range.lowerBound
            }
        }
    }

    /// Whether the store marks its answer to this request by a header in any case: it describes an object.
    var isAnswerMarked: Bool { key != nil && query.isEmpty && (method == .GET || method == .HEAD) }

    /// - Parameter text: Small, such as a list of parts.
    mutating func setBody(_ text: String) {
        let bytes = Array(text.utf8)
        payload = .bytes(bytes, PayloadHash(bytes))
    }
}

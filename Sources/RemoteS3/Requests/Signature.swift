import Crypto
import Foundation

/// Signs requests by AWS's Signature Version 4: in the header, with the hash of the payload; or links, in the query.
///
///     canonical request   method, path, query, headers, payload hash      one line each
///     string to sign      AWS4-HMAC-SHA256, time, scope, SHA-256 of that
///     key                 HMAC("AWS4" secret, day) → region → service → "aws4_request"
///     Authorization       scope, names of the signed headers, HMAC of the string
///
/// Source: "Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk", Amazon S3 API
/// Reference. S3 encodes the path once and does not normalize it.
struct Signature {
    let credentials: Credentials
    let region: String
    let service: String
    /// For example `20130524T000000Z`: needed four times in a request, and slow to format.
    private let timeText: String

    init(credentials: Credentials, region: String, service: String = "s3", time: Date) {
        self.credentials = credentials
        self.region = region
        self.service = service
        timeText = Self.text(of: time)
    }

    /// The signed parts of a request.
    struct Request {
        var method: String
        /// Before percent-encoding, beginning with a slash.
        var path: String
        var query: [(name: String, value: String)] = []
        /// All headers to sign; `host` must be among them. Names are unique.
        var headers: [(name: String, value: String)]
        /// SHA-256 of the body in hex.
        var payloadHash: String
    }

    static let emptyPayloadHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    /// Instead of a hash in links: their requests have no body.
    private static let unsignedPayload = "UNSIGNED-PAYLOAD"

    private static let algorithm = "AWS4-HMAC-SHA256"

    /// The headers that S3 requires in a request: time, payload hash, session token, authorization.
    func headers(for request: Request) -> [(name: String, value: String)] {
        var added = [("x-amz-content-sha256", request.payloadHash), ("x-amz-date", timeText)]
        if let token = credentials.sessionToken { added.append(("x-amz-security-token", token)) }
        var signed = request
        signed.headers += added.map { (name: $0.0, value: $0.1) }
        return added + [("authorization", authorization(for: signed))]
    }

    func authorization(for request: Request) -> String {
        let (canonical, names) = Self.canonicalRequest(request)
        return "\(Self.algorithm) Credential=\(credentials.accessKeyID)/\(scope), SignedHeaders=\(names), "
            + "Signature=\(signature(of: canonical))"
    }

    /// The complete query of a link that needs no headers: it is signed itself, for a time.
    ///
    /// Source: "Authenticating Requests: Using Query Parameters", Amazon S3 API Reference.
    /// - Parameters:
    ///   - request: With the header `host` alone.
    ///   - seconds: 1 to 604,800.
    func query(for request: Request, lasting seconds: Int64) -> String {
        var signed = request
        signed.payloadHash = Self.unsignedPayload
        signed.query += [
            ("X-Amz-Algorithm", Self.algorithm), ("X-Amz-Credential", "\(credentials.accessKeyID)/\(scope)"),
            ("X-Amz-Date", timeText), ("X-Amz-Expires", "\(seconds)"), ("X-Amz-SignedHeaders", "host"),
        ]
        if let token = credentials.sessionToken { signed.query.append(("X-Amz-Security-Token", token)) }
        let signature = signature(of: Self.canonicalRequest(signed).text)
        return Self.queryText(signed.query) + "&X-Amz-Signature=\(signature)"
    }

    private func signature(of canonicalRequest: String) -> String {
        Hex.text(hmac(signingKey, stringToSign(canonicalRequest)))
    }

    /// - Returns: The text, and the names of the headers as in its last line but one.
    static func canonicalRequest(_ request: Request) -> (text: String, signedHeaders: String) {
        let headers = request.headers.map { (name: $0.name.lowercased(), value: trimmed($0.value)) }
            .sorted { $0.name < $1.name }
        let names = headers.map(\.name).joined(separator: ";")
        let lines =
            [request.method, PercentEncoding.encode(request.path, keepingSlashes: true), queryText(request.query)]
            + headers.map { "\($0.name):\($0.value)" } + ["", names, request.payloadHash]
        return (lines.joined(separator: "\n"), names)
    }

    /// The query as it is both signed and sent: sorted by the bytes of the encoded names, then values.
    static func queryText(_ query: [(name: String, value: String)]) -> String {
        query.map { (PercentEncoding.encode($0.name), PercentEncoding.encode($0.value)) }
            .sorted { $0.0 == $1.0 ? precedes($0.1, $1.1) : precedes($0.0, $1.0) }
            .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    func stringToSign(_ canonicalRequest: String) -> String {
        let hash = Hex.text(SHA256.hash(data: Array(canonicalRequest.utf8)))
        return [Self.algorithm, timeText, scope, hash].joined(separator: "\n")
    }

    // MARK: - Private

    private var scope: String { "\(day)/\(region)/\(service)/aws4_request" }
    private var day: String { String(timeText.prefix(8)) }

    private static func text(of time: Date) -> String {
        var seconds = time_t(time.timeIntervalSince1970.rounded(.down))
        var parts = tm()
        gmtime_r(&seconds, &parts)
        return String(
            format: "%04d%02d%02dT%02d%02d%02dZ", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
            parts.tm_min, parts.tm_sec)
    }

    private var signingKey: [UInt8] {
        [day, region, service, "aws4_request"].reduce(Array("AWS4\(credentials.secretAccessKey)".utf8), hmac)
    }

    private func hmac(_ key: [UInt8], _ text: String) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: SymmetricKey(data: key)))
    }

    /// Without leading and trailing blanks, and with single ones inside.
    private static func trimmed(_ value: String) -> String {
        value.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }

    private static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}

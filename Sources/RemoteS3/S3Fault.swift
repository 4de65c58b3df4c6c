import Foundation
import NIOHTTP1

/// An error response of the store: its status, and the contents of its body.
///
/// Source: "Error responses", Amazon S3 API Reference.
struct S3Fault: Error, Sendable {
    let status: UInt
    /// For example `NoSuchKey`; empty when the body is empty, as for a HEAD.
    let code: String
    let message: String
    /// The region of the bucket, if the store names it.
    let region: String?
    /// The store's clock, as sent.
    let serverTime: String?
    /// The same, from the header that every response has.
    let date: Date?
    /// Whether the response shows that the store sent it: by a header of S3's, or by an error code.
    let isMarked: Bool
    /// The delay that the store requests.
    let retryAfter: Duration?

    init(status: UInt, headers: HTTPHeaders, body: [UInt8]) {
        self.status = status
        var document = S3Document.parse(body)
        if document?.name != "Error" { document = document?.child("Error") }
        code = document?.text("Code") ?? ""
        message = document?.text("Message") ?? ""
        region = headers.first(name: "x-amz-bucket-region") ?? document?.text("Region")
        serverTime = document?.text("ServerTime") ?? headers.first(name: "date")
        date = headers.first(name: "date").flatMap(Self.date)
        isMarked = !code.isEmpty || AnswerOrigin(headers) == .store
        retryAfter = Self.delay(headers, date)
    }

    /// An error that a response with a status of success contains, as one that had begun when the store failed.
    ///
    /// - Parameter body: Of the response.
    /// - Returns: `nil` when it contains none.
    init?(within body: [UInt8], headers: HTTPHeaders) {
        guard let document = S3Document.parse(body), document.name == "Error" else { return nil }
        let status: UInt =
            switch document.text("Code") {
            case "SlowDown", "ServiceUnavailable": 503
            case "AccessDenied": 403
            case "NoSuchUpload", "NoSuchKey": 404
            case "InvalidRequest", "NotImplemented", "InvalidArgument": 400
            default: 500
            }
        self.init(status: status, headers: headers, body: body)
    }

    /// The delay that `Retry-After` requests, in seconds or as a date. A date is compared with that of the response, the
    /// clock of the store: this machine's may differ.
    ///
    /// Source: RFC 9110, section 10.2.3.
    private static func delay(_ headers: HTTPHeaders, _ now: Date?) -> Duration? {
        guard let text = headers.first(name: "retry-after") else { return nil }
        if let seconds = Int64(text) { return .seconds(max(0, seconds)) }
        guard let now, let end = Self.date(text) else { return nil }
        return .seconds(max(0, Int64(end.timeIntervalSince(now))))
    }

    /// Whether the store asks to slow down.
    var isThrottling: Bool {
        [429, 503].contains(status)
            || ["SlowDown", "SlowDownRead", "SlowDownWrite", "TooManyRequests", "ServiceUnavailable"].contains(code)
    }

    /// Whether the store has handled the request, even if it refused: a gateway before it may fail by itself.
    var isAnswer: Bool { isMarked && status < 500 && !isThrottling }

    /// Whether the same request may succeed in a moment.
    var isTransient: Bool {
        switch (status, code) {
        // Bytes were lost or changed in transit.
        case (_, "RequestTimeout"), (_, "IncompleteBody"), (_, "BadDigest"), (_, "XAmzContentSHA256Mismatch"): true
        // Another writer is writing the same key; neither has won yet.
        case (409, "ConditionalRequestConflict"), (409, "OperationAborted"), (409, "ConcurrentModification"): true
        case (408, _), (429, _), (500, _), (502, _), (503, _), (504, _): true
        default: isThrottling
        }
    }

    /// Whether other credentials may help: these may have been replaced in their file, or have expired.
    var isAboutCredentials: Bool {
        ["InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "TokenRefreshRequired", "InvalidToken"]
            .contains(code)
    }

    /// Whether the bucket requires a checksum header, as one with object lock does.
    ///
    /// Source: "PutObject", Amazon S3 API Reference: `Content-MD5` is required for a bucket with a retention period.
    var asksForMD5: Bool {
        status == 400 && (code == "MissingContentMD5" || (code == "InvalidRequest" && message.contains("Content-MD5")))
    }

    /// The region to switch to, if that is the problem.
    func otherRegion(than current: String) -> String? {
        guard [301, 307, 400, 403].contains(status), let region, region != current, S3Location.isRegion(region) else {
            return nil
        }
        return region
    }
}

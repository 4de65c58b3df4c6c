import NIOHTTP1

/// An answer of the store that is not the one that was hoped for: its status, and what its body says of it.
///
/// Source: "Error responses", Amazon S3 API Reference.
struct S3Fault: Error, Sendable {
    let status: UInt
    /// Such as `NoSuchKey`; empty where the body says nothing, as that of a HEAD.
    let code: String
    let message: String
    /// The region that the bucket is in, where the store says so.
    let region: String?
    /// The store's clock, as it wrote it.
    let serverTime: String?
    /// How long the store asks to be left alone.
    let retryAfter: Duration?

    init(status: UInt, headers: HTTPHeaders, body: [UInt8]) {
        self.status = status
        var document = S3Document.parse(body)
        if document?.name != "Error" { document = document?.child("Error") }
        code = document?.text("Code") ?? ""
        message = document?.text("Message") ?? ""
        region = headers.first(name: "x-amz-bucket-region") ?? document?.text("Region")
        serverTime = document?.text("ServerTime") ?? headers.first(name: "date")
        // The other form, a date, is not worth a second clock: then the usual delays hold.
        retryAfter = headers.first(name: "retry-after").flatMap { Int64($0) }.map { .seconds(max(0, $0)) }
    }

    /// Whether the same request may succeed in a moment.
    var isTransient: Bool {
        switch (status, code) {
        // Bytes were lost or changed on the way.
        case (_, "RequestTimeout"), (_, "IncompleteBody"), (_, "BadDigest"), (_, "XAmzContentSHA256Mismatch"): true
        // Another writer is at the same key; nobody has won yet.
        case (409, "ConditionalRequestConflict"), (409, "OperationAborted"), (409, "ConcurrentModification"): true
        case (408, _), (429, _), (500, _), (502, _), (503, _), (504, _): true
        default: false
        }
    }

    /// Whether other credentials may do better: these may have been replaced in their file, or have expired.
    var isAboutCredentials: Bool {
        ["InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "TokenRefreshRequired", "InvalidToken"]
            .contains(code)
    }

    /// Whether the bucket takes nothing without a checksum header, as one with object lock does.
    ///
    /// Source: "PutObject", Amazon S3 API Reference: `Content-MD5` is required for a bucket with a retention period.
    var asksForMD5: Bool {
        status == 400 && (code == "MissingContentMD5" || (code == "InvalidRequest" && message.contains("Content-MD5")))
    }

    /// The region to go to, where that is what is wrong.
    func otherRegion(than current: String) -> String? {
        guard [301, 307, 400, 403].contains(status), let region, region != current, S3Location.isRegion(region) else {
            return nil
        }
        return region
    }
}

import Model
import NIOHTTP1
import Remote
import Testing

@testable import RemoteS3

/// Responses as services send them, and the errors that they are translated to.
@Suite struct S3FaultTests {
    struct Sample: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let status: UInt
        var headers: [String: String] = [:]
        var body = ""
        let code: StoreError.Code
        /// What the error message must contain.
        var words: [String] = []
        var isTransient = false
    }

    private static func xml(_ code: String, _ message: String = "", _ rest: String = "") -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <Error><Code>\(code)</Code><Message>\(message)</Message>\(rest)<RequestId>656c</RequestId><HostId>x=</HostId></Error>
        """
    }

    static let samples = [
        Sample(
            testDescription: "no such key", status: 404, body: xml("NoSuchKey", "The specified key does not exist."),
            code: .notFound),
        Sample(testDescription: "HEAD of nothing", status: 404, code: .notFound),
        Sample(
            testDescription: "no such bucket", status: 404,
            body: xml("NoSuchBucket", "The specified bucket does not exist", "<BucketName>notes</BucketName>"),
            code: .invalid, words: ["no bucket notes", "http://127.0.0.1:1", "create it first"]),
        Sample(
            testDescription: "unknown key", status: 403,
            body: xml("InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records."),
            code: .denied, words: ["key ID from the environment", "http://127.0.0.1:1"]),
        Sample(
            testDescription: "wrong secret, as Ceph says it", status: 403,
            body:
                #"<?xml version="1.0" encoding="UTF-8"?><Error><Code>SignatureDoesNotMatch</Code><RequestId>tx1</RequestId><HostId>f</HostId></Error>"#,
            code: .denied, words: ["secret key", "key ID from the environment"]),
        Sample(
            testDescription: "a right is missing", status: 403, body: xml("AccessDenied", "Access Denied"),
            code: .denied, words: ["may not PUT", "notes", "AccessDenied"]),
        Sample(testDescription: "a HEAD is refused", status: 403, code: .denied, words: ["may not PUT"]),
        Sample(
            testDescription: "the clock is wrong", status: 403,
            body: xml(
                "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.",
                "<RequestTime>20200101T000000Z</RequestTime><ServerTime>2026-01-01T00:00:00Z</ServerTime>"),
            code: .denied, words: ["the time here", "2026-01-01T00:00:00Z", "clock"]),
        Sample(
            testDescription: "the clock is wrong, as Ceph says it", status: 403,
            headers: ["Date": "Thu, 01 Jan 2026 00:00:00 GMT"], body: xml("RequestTimeTooSkewed"), code: .denied,
            words: ["the time here", "Thu, 01 Jan 2026"]),
        Sample(
            testDescription: "temporary credentials are over", status: 400,
            body: xml("ExpiredToken", "The provided token has expired."), code: .denied,
            words: ["no longer valid", "new credentials"]),
        Sample(
            testDescription: "another region", status: 400,
            body: xml(
                "AuthorizationHeaderMalformed", "the region 'us-east-1' is wrong; expecting 'eu-west-1'",
                "<Region>eu-west-1</Region>"),
            code: .invalid, words: ["eu-west-1", "us-east-1", "--region"]),
        Sample(
            testDescription: "a redirection", status: 301,
            headers: ["x-amz-bucket-region": "eu-west-1"],
            body: xml("PermanentRedirect", "addressed using the specified endpoint"), code: .invalid,
            words: ["eu-west-1", "--region"]),
        Sample(
            testDescription: "a captive portal", status: 302, body: "<html><body>Log in</body></html>",
            code: .unavailable, words: ["http://127.0.0.1:1", "302"]),
        Sample(
            testDescription: "taken", status: 412,
            body: xml("PreconditionFailed", "At least one of the pre-conditions you specified did not hold"),
            code: .preconditionFailed),
        Sample(
            testDescription: "another writer is there", status: 409,
            body: xml("ConditionalRequestConflict", "conflicting operation"), code: .unavailable, isTransient: true),
        Sample(
            testDescription: "slow down", status: 503, body: xml("SlowDown", "Reduce your request rate."),
            code: .throttled, words: ["slow down"], isTransient: true),
        Sample(testDescription: "too many requests", status: 429, code: .throttled, isTransient: true),
        Sample(
            testDescription: "a failure inside", status: 500, body: xml("InternalError", "We encountered an error."),
            code: .unavailable, words: ["InternalError"], isTransient: true),
        Sample(testDescription: "a gateway without its server", status: 502, code: .unavailable, isTransient: true),
        Sample(
            testDescription: "bytes were late", status: 400,
            body: xml("RequestTimeout", "Your socket connection was not read from or written to"), code: .unavailable,
            isTransient: true),
        Sample(
            testDescription: "bytes changed on the way", status: 400,
            body: xml("BadDigest", "The Content-MD5 you specified did not match"), code: .unavailable,
            isTransient: true),
        Sample(
            testDescription: "a quota, as Ceph says it", status: 403, body: xml("QuotaExceeded"), code: .full,
            words: ["no room"]),
        Sample(
            testDescription: "a full disk, as MinIO says it", status: 507,
            body: xml("XMinioStorageFull", "Storage backend has reached its minimum free drive threshold."), code: .full
        ),
        Sample(testDescription: "a full disk", status: 507, code: .full),
        Sample(
            testDescription: "what a service does not know", status: 501,
            body: xml("NotImplemented", "A header you provided implies functionality that is not implemented"),
            code: .invalid, words: ["does not support"]),
        Sample(
            testDescription: "nonsense", status: 400, body: xml("InvalidArgument", "bad"), code: .invalid,
            words: ["InvalidArgument", "bad"]),
        Sample(testDescription: "no XML at all", status: 418, body: "<<<&", code: .invalid, words: ["418"]),
    ]

    @Test(arguments: samples) func `a response is translated to a store error`(sample: Sample) throws {
        var headers = HTTPHeaders()
        for (name, value) in sample.headers { headers.add(name: name, value: value) }
        let fault = S3Fault(status: sample.status, headers: headers, body: Array(sample.body.utf8))
        let context = S3Context(
            location: try S3Location(
                "s3://notes", endpoint: "http://127.0.0.1:1", environment: ["HOME": "/nonexistent"]),
            region: "us-east-1",
            credentials: Credentials(accessKeyID: "ID", secretAccessKey: "hush", origin: "the environment"),
            time: "the time here", method: "PUT")
        let error = fault.storeError(key: "packs/1", context)
        #expect(error == StoreError(sample.code, key: "packs/1"))
        for word in sample.words { #expect(error.detail.contains(word), "\(error.detail)") }
        #expect(!error.description.contains("hush"))
        #expect(fault.isTransient == sample.isTransient)
    }

    @Test(arguments: [("7", Duration.seconds(7)), ("-1", .zero), ("soon", nil), ("Fri, 31 Dec 1999 23:59:59 GMT", nil)])
    func `Retry-After is understood in seconds, and a date only with the date of the answer`(
        text: String, expected: Duration?
    ) {
        #expect(S3Fault(status: 503, headers: ["Retry-After": text], body: []).retryAfter == expected)
    }

    @Test(arguments: [
        ("Thu, 01 Jan 2026 00:00:30 GMT", Duration.seconds(30)), ("Wed, 31 Dec 2025 23:59:59 GMT", .zero),
        ("Fri, 02 Jan 2026 00:00:00 GMT", .seconds(86_400)), ("Thu, 01 Jan 2026", nil), ("9", .seconds(9)),
    ])
    func `a date in Retry-After counts from the date of the answer`(text: String, expected: Duration?) {
        let headers: HTTPHeaders = ["Retry-After": text, "Date": "Thu, 01 Jan 2026 00:00:00 GMT"]
        #expect(S3Fault(status: 503, headers: headers, body: []).retryAfter == expected)
    }

    @Test(arguments: ["us-east-1", "", "evil.example.com/", "eu-west-1\r\nX: y"])
    func `a redirect to the same or an invalid region is not followed`(region: String) {
        let fault = S3Fault(status: 301, headers: ["x-amz-bucket-region": region], body: [])
        #expect(fault.otherRegion(than: "us-east-1") == nil)
    }

    @Test func `a document with deeply nested elements is rejected`() {
        let deep = String(repeating: "<a>", count: 10_000) + String(repeating: "</a>", count: 10_000)
        #expect(S3Document.parse(Array(deep.utf8)) == nil)
    }

    @Test func `the expansion of entities that a document declares is limited`() {
        var text = "<!DOCTYPE a [<!ENTITY x0 \"0123456789\">"
        for level in 1...12 {
            text += "<!ENTITY x\(level) \"" + String(repeating: "&x\(level - 1);", count: 10) + "\">"
        }
        let document = S3Document.parse(Array((text + "]><Error><Code>&x12;</Code></Error>").utf8))
        #expect((document?.text("Code")?.count ?? 0) < 1_000_000)
    }
}

@Suite struct ListPageTests {
    @Test func `keys are decoded, and the continuation token is read`() throws {
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>notes</Name><Prefix>a%20b/</Prefix>
            <KeyCount>2</KeyCount><MaxKeys>2</MaxKeys><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>
            <Contents><Key>a%20b/%C3%BC%2B1</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;x&quot;</ETag>
            <Size>5</Size><StorageClass>STANDARD</StorageClass></Contents><Contents><Key>a+b/z</Key><Size>0</Size></Contents>
            <NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=</NextContinuationToken></ListBucketResult>
            """
        let page = try ListPage(Array(text.utf8), key: "")
        #expect(
            page.entries.map(\.key) == ["a b/ü+1", "a b/z"] && page.entries.map(\.byteCount) == [5, 0])
        #expect(page.entries.map(\.neighbour.etag) == ["x", ""])
        #expect(page.entries.map(\.modified?.seconds) == [1_767_225_600, 0])
        #expect(page.continuation == "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=")
    }

    @Test(arguments: [
        "", "<html/>", "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%zz</Key><Size>1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><IsTruncated>false</IsTruncated>",
    ])
    func `an invalid listing is an error, not an empty listing`(text: String) {
        #expect(throws: StoreError(.unavailable, key: "log/")) { try ListPage(Array(text.utf8), key: "log/") }
    }
}

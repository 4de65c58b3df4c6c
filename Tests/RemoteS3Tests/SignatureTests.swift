import Foundation
import Testing

@testable import RemoteS3

/// The examples that Amazon publishes in "Signature Calculations for the Authorization Header: Transferring Payload in
/// a Single Chunk", with the signatures printed there.
@Suite struct SignatureTests {
    struct Example: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var method = "GET"
        var path = "/"
        var query: [(name: String, value: String)] = []
        var headers: [(name: String, value: String)] = []
        var payload = ""
        var canonicalRequestHash: String?
        let signedHeaders: String
        let signature: String
    }

    static let examples = [
        Example(
            testDescription: "GET object", path: "/test.txt", headers: [("Range", "bytes=0-9")],
            canonicalRequestHash: "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972",
            signedHeaders: "host;range;x-amz-content-sha256;x-amz-date",
            signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        Example(
            testDescription: "PUT object", method: "PUT", path: "/test$file.text",
            headers: [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
            payload: "Welcome to Amazon S3.",
            canonicalRequestHash: "9e0e90d9c76de8fa5b200d8c849cd5b8dc7a3be3951ddb7f6a76b4158342019d",
            signedHeaders: "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
            signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
        Example(
            testDescription: "GET bucket lifecycle", query: [("lifecycle", "")],
            signedHeaders: "host;x-amz-content-sha256;x-amz-date",
            signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        Example(
            testDescription: "list objects", query: [("prefix", "J"), ("max-keys", "2")],
            signedHeaders: "host;x-amz-content-sha256;x-amz-date",
            signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ]

    @Test(arguments: examples)
    func `a request of Amazon's examples gets the published signature`(example: Example) {
        let signature = Signature(
            credentials: Credentials(
                accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                origin: "an example"),
            region: "us-east-1", time: Date(timeIntervalSince1970: 1_369_353_600))
        let request = Signature.Request(
            method: example.method, path: example.path, query: example.query,
            headers: example.headers + [("Host", "examplebucket.s3.amazonaws.com")],
            payloadHash: PayloadHash(Array(example.payload.utf8)).sha256)
        let headers = signature.headers(for: request)
        #expect(
            headers.first { $0.name == "authorization" }?.value
                == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                + "SignedHeaders=\(example.signedHeaders), Signature=\(example.signature)")
        #expect(headers.first { $0.name == "x-amz-date" }?.value == "20130524T000000Z")
        if let expected = example.canonicalRequestHash {
            var signed = request
            signed.headers += headers.filter { $0.name != "authorization" }
            let text = Signature.canonicalRequest(signed).text
            #expect(PayloadHash(Array(text.utf8)).sha256 == expected)
        }
    }
}

extension SignatureTests {
    /// Source: "Authenticating Requests: Using Query Parameters", Amazon S3 API Reference, the example.
    @Test func `a link gets the signature that Amazon publishes`() {
        let signature = Signature(
            credentials: Credentials(
                accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                origin: "an example"),
            region: "us-east-1", time: Date(timeIntervalSince1970: 1_369_353_600))
        let request = Signature.Request(
            method: "GET", path: "/test.txt", headers: [("host", "examplebucket.s3.amazonaws.com")], payloadHash: "")
        #expect(
            signature.query(for: request, lasting: 86_400)
                == "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3"
                + "%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
                + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
    }

    @Test(
        arguments: [
            ("a.pdf", #"attachment; filename="a.pdf"; filename*=UTF-8''a.pdf"#),
            ("Ü \"1\".pdf", #"attachment; filename="_ _1_.pdf"; filename*=UTF-8''%C3%9C%20%221%22.pdf"#),
            ("a\r\nb%41", #"attachment; filename="a__b_41"; filename*=UTF-8''a%0D%0Ab%2541"#),
        ])
    func `a file name in a header cannot break out of it`(name: String, header: String) {
        #expect(ContentDisposition.attachment(name) == header)
    }
}

/// Cases of Amazon's own test suite, from the directory `tests/aws-signing-test-suite/v4` of the repository
/// awslabs/aws-c-auth: those that apply to S3, which neither normalizes paths nor repeats headers.
@Suite struct SignatureSuiteTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var method = "GET"
        var path = "/"
        var query: [(name: String, value: String)] = []
        var headers: [(name: String, value: String)] = []
        var token: String?
        let canonicalQuery: String
        let signature: String
    }

    private static let everything = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    static let cases = [
        Case(
            testDescription: "get-vanilla", canonicalQuery: "",
            signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        Case(
            testDescription: "get-vanilla-query-order-key-case", query: [("Param2", "value2"), ("Param1", "value1")],
            canonicalQuery: "Param1=value1&Param2=value2",
            signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
        Case(
            testDescription: "get-vanilla-query-unreserved", query: [(everything, everything)],
            canonicalQuery: "\(everything)=\(everything)",
            signature: "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"),
        Case(
            testDescription: "get-vanilla-query-order-encoded",
            query: [("Param-3", "Value3"), ("Param", "Value2"), ("ሴ", "Value1")],
            canonicalQuery: "%E1%88%B4=Value1&Param=Value2&Param-3=Value3",
            signature: "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"),
        Case(
            testDescription: "get-vanilla-utf8-query", query: [("ሴ", "bar")], canonicalQuery: "%E1%88%B4=bar",
            signature: "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"),
        Case(
            testDescription: "get-header-value-trim",
            headers: [("My-Header1", " value1"), ("My-Header2", " \"a   b   c\"")], canonicalQuery: "",
            signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"),
        Case(
            testDescription: "get-utf8", path: "/ሴ", canonicalQuery: "",
            signature: "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
        Case(
            testDescription: "get-space-unnormalized", path: "/example space/", canonicalQuery: "",
            signature: "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"),
        Case(
            testDescription: "get-slashes-unnormalized", path: "//example//", canonicalQuery: "",
            signature: "87cca117541a147f6df867677d98a7d80dff226d2bfca9e4ffa899665623c7e5"),
        Case(
            testDescription: "post-header-key-sort", method: "POST", headers: [("My-Header1", "value1")],
            canonicalQuery: "", signature: "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"),
        Case(
            testDescription: "get-vanilla-with-session-token",
            token: "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267", canonicalQuery: "",
            signature: "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"),
    ]

    @Test(arguments: cases)
    func `a request of Amazon's test suite gets the expected signature`(sample: Case) {
        let signature = Signature(
            credentials: Credentials(
                accessKeyID: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                origin: "a test"),
            region: "us-east-1", service: "service", time: Date(timeIntervalSince1970: 1_440_938_160))
        // The suite signs no payload hash as a header.
        let request = Signature.Request(
            method: sample.method, path: sample.path, query: sample.query,
            headers: sample.headers + [("Host", "example.amazonaws.com"), ("X-Amz-Date", "20150830T123600Z")]
                + (sample.token.map { [("X-Amz-Security-Token", $0)] } ?? []),
            payloadHash: Signature.emptyPayloadHash)
        #expect(Signature.queryText(sample.query) == sample.canonicalQuery)
        #expect(signature.authorization(for: request).hasSuffix("Signature=\(sample.signature)"))
    }

    @Test func `a session token is signed and sent`() {
        let signature = Signature(
            credentials: Credentials(
                accessKeyID: "a", secretAccessKey: "b", sessionToken: "the token", origin: "a test"),
            region: "us-east-1", time: Date(timeIntervalSince1970: 0))
        let headers = signature.headers(
            for: Signature.Request(
                method: "GET", path: "/", headers: [("host", "x")], payloadHash: Signature.emptyPayloadHash))
        #expect(headers.contains { $0.name == "x-amz-security-token" && $0.value == "the token" })
        let authorization = headers.first { $0.name == "authorization" }?.value ?? ""
        #expect(authorization.contains("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,"))
    }
}

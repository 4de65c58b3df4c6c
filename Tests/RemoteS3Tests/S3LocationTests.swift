import Remote
import Testing

@testable import RemoteS3

@Suite struct S3LocationTests {
    /// An environment without files and variables.
    static let nowhere = ["HOME": "/nonexistent"]

    private func location(
        _ url: String, endpoint: String? = nil, region: String? = nil, _ environment: [String: String] = [:]
    ) throws -> S3Location {
        try S3Location(
            url, endpoint: endpoint, region: region, environment: Self.nowhere.merging(environment) { $1 })
    }

    @Test(arguments: [
        ("s3://notes", "notes", "", "s3://notes"), ("s3://notes/", "notes", "", "s3://notes"),
        ("S3://notes/a", "notes", "a/", "s3://notes/a"),
        ("s3://n.o-t3s/a/b c/ü/", "n.o-t3s", "a/b c/ü/", "s3://n.o-t3s/a/b c/ü"),
    ])
    func `a URL names bucket and prefix`(url: String, bucket: String, prefix: String, written: String) throws {
        let location = try location(url)
        #expect(location.bucket == bucket)
        #expect(location.prefix == prefix)
        #expect(location.url == written)
        #expect(location.key("log/1") == prefix + "log/1")
    }

    @Test(arguments: [
        "s3:notes", "s3://", "s3:///a", "s3://No", "s3://Notes", "s3://no_tes", "s3://-notes", "s3://notes-",
        "s3://no..tes",
        "s3://127.0.0.1", "s3://notes//a", "s3://notes/a//b", "s3://notes/a/../b", "s3://notes/.", "s3://notes/a%20b",
        "s3://notes/a?b", "s3://notes/a#b", "s3://notes/a\nb", "https://notes", "s3://key:secret@notes",
        "s3://notes/" + String(repeating: "a", count: 600), "s3://" + String(repeating: "a", count: 64),
    ])
    func `an invalid or ambiguous URL is refused`(url: String) {
        #expect(throws: StoreError(.invalid, key: url)) { try location(url) }
    }

    @Test(arguments: ["0", "65536", "99999", "99999999999999999999"])
    func `a port that is none is refused`(port: String) throws {
        let endpoint = "http://127.0.0.1:\(port)"
        #expect(throws: StoreError(.invalid, key: endpoint)) { try location("s3://notes", endpoint: endpoint) }
        #expect(throws: StoreError(.invalid, key: endpoint)) {
            try location("s3://notes", ["AWS_ENDPOINT_URL": endpoint])
        }
        let proxies = ProxySettings(["HTTP_PROXY": "http://proxy:\(port)"])
        #expect(throws: ProxySettings.Fault.self) {
            _ = try proxies.proxy(isPlain: true, host: "s3.example.com", port: nil)
        }
    }

    @Test func `the first and the last port are taken`() throws {
        for port in ["1", "65535"] {
            let endpoint = "http://127.0.0.1:\(port)"
            #expect(try location("s3://notes", endpoint: endpoint).endpoint.url == endpoint)
        }
        #expect(try location("s3://notes", endpoint: "http://127.0.0.1:").endpoint.port == nil)
    }

    @Test(arguments: ["http://127.0.0.1:99999", "http://127.0.0.1:0", "ftp://127.0.0.1", "http://", "", "127.0.0.1"])
    func `the address of a credential server that is none does not end the program`(endpoint: String) async throws {
        let client = MetadataClient(http: HTTPTransport(variables: [:]).direct)
        await #expect(throws: StoreError(.unavailable, key: "credentials")) {
            _ = try await client.container(url: endpoint, token: nil)
        }
        #expect(try await client.instance(endpoint: endpoint) == nil)
    }

    @Test func `the endpoint comes from the option, else the environment, else Amazon`() throws {
        let both = ["AWS_ENDPOINT_URL": "http://one:1", "AWS_ENDPOINT_URL_S3": "http://two:2/"]
        #expect(try location("s3://notes", endpoint: "https://three", both).endpoint.url == "https://three")
        #expect(try location("s3://notes", both).endpoint.url == "http://two:2")
        #expect(try location("s3://notes", ["AWS_ENDPOINT_URL": "http://one:1"]).endpoint.url == "http://one:1")
        #expect(try location("s3://notes").endpoint.url == "https://s3.us-east-1.amazonaws.com")
        #expect(
            try location("s3://notes", region: "cn-north-1").endpoint.url == "https://s3.cn-north-1.amazonaws.com.cn")
        #expect(try location("s3://notes", ["AWS_ENDPOINT_URL": ""]).endpoint.isAmazon)
    }

    @Test func `the region comes from the option, else the environment, else the default`() throws {
        let both = ["AWS_DEFAULT_REGION": "eu-west-1", "AWS_REGION": "eu-west-2"]
        #expect(try location("s3://notes", region: "eu-west-3", both).region == "eu-west-3")
        #expect(try location("s3://notes", both).region == "eu-west-2")
        #expect(try location("s3://notes", ["AWS_DEFAULT_REGION": "eu-west-1"]).region == "eu-west-1")
        #expect(try location("s3://notes").region == "us-east-1")
        #expect(try location("s3://notes", both).endpoint.url == "https://s3.eu-west-2.amazonaws.com")
    }

    @Test(arguments: [
        ("https://s3.eu-west-1.amazonaws.com", "eu-west-1"),
        ("https://s3.dualstack.eu-west-1.amazonaws.com", "eu-west-1"),
        ("https://s3-fips.us-gov-west-1.amazonaws.com", "us-gov-west-1"), ("https://s3.amazonaws.com", "us-east-1"),
        ("https://s3.cn-north-1.amazonaws.com.cn", "cn-north-1"), ("https://s3.eu-west-1.example.com", "us-east-1"),
    ])
    func `the region is taken from an Amazon endpoint`(endpoint: String, region: String) throws {
        #expect(try location("s3://notes", endpoint: endpoint).region == region)
    }

    @Test(arguments: [
        ("s3://notes", "https://s3.eu-west-1.amazonaws.com", true),
        ("s3://n.otes", "https://s3.eu-west-1.amazonaws.com", false),
        ("s3://notes", "https://s3.example.com", false), ("s3://notes", "https://notamazonaws.com", false),
        ("s3://notes", "http://127.0.0.1:7480", false),
    ])
    func `only Amazon's endpoints use a host name per bucket`(url: String, endpoint: String, expected: Bool) throws {
        #expect(try location(url, endpoint: endpoint).usesVirtualHost == expected)
    }

    @Test(arguments: [
        "s3.example.com", "ftp://s3.example.com", "https://", "http://?a", "https://example.com?x=1",
        "https://example.com/#x",
        "/srv", "httpx://a",
    ])
    func `an invalid endpoint is refused`(endpoint: String) {
        #expect(throws: StoreError(.invalid, key: endpoint)) { try location("s3://notes", endpoint: endpoint) }
    }

    @Test func `an endpoint that contains keys is refused, and the error does not show them`() throws {
        let error = #expect(throws: StoreError.self) {
            try location("s3://notes", endpoint: "https://AKIA:hidden@s3.example.com")
        }
        #expect(error?.code == .invalid)
        #expect(error.map { "\($0)".contains("hidden") } == false)
    }

    @Test func `an endpoint keeps its port, its path and its scheme`() throws {
        let endpoint = try S3Endpoint("HTTP://[::1]:9000/storage/v1/s3/")
        #expect(endpoint.isPlain)
        #expect(endpoint.authority == "[::1]:9000")
        #expect(endpoint.basePath == "/storage/v1/s3")
        #expect(endpoint.url == "http://[::1]:9000/storage/v1/s3")
    }

    @Test(arguments: ["", "eu west", "-x", "a/b", "ü"]) func `an invalid region is refused`(region: String) {
        #expect(throws: StoreError(.invalid, key: "s3://notes")) { try location("s3://notes", region: region) }
    }

    @Test func `only objects in the same bucket outside the container can be adopted`() throws {
        let place = try location("s3://notes/work/box")
        for (url, prefix) in [
            ("s3://notes/photos", "photos/"), ("s3://notes/work/other/", "work/other/"),
            ("S3://notes/work/boxes", "work/boxes/"),
            ("s3://notes/ü b", "ü b/"),
        ] {
            #expect(try place.neighbourPrefix(url) == prefix)
        }
        for (url, word) in [
            ("s3://notes/work/box", "is inside the container"),
            ("s3://notes/work/box/packs", "is inside the container"),
            ("s3://notes/work", "the container s3://notes/work/box is inside s3://notes"),
            ("s3://notes", "the container s3://notes/work/box is inside s3://notes"),
            ("s3://other/photos", "another bucket than the container, which is in notes"),
            ("file:///x", "must be s3://"),
        ] {
            let error = #expect(throws: StoreError(.invalid, key: url)) { try place.neighbourPrefix(url) }
            #expect(error?.detail.contains(word) == true, "\(error?.detail ?? "")")
        }
        #expect(throws: StoreError(.invalid, key: "s3://notes/x")) {
            try location("s3://notes").neighbourPrefix("s3://notes/x")
        }
    }
}

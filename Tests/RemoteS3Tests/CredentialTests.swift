import AsyncHTTPClient
import Foundation
import Remote
import Synchronization
import Testing

@testable import RemoteS3

@Suite struct CredentialSourceTests {
    let home: TemporaryDirectory
    let denied = StoreError(.denied, key: "credentials")

    init() throws { home = try TemporaryDirectory() }

    private func source(_ environment: [String: String]) throws -> CredentialSource? {
        try CredentialSource.first(environment: ["HOME": home.path].merging(environment) { $1 })
    }

    private func credentials(_ environment: [String: String] = [:]) throws -> Credentials {
        guard case .found(let credentials)? = try source(environment) else { throw StoreError(.notFound, key: "") }
        return credentials
    }

    private func writeFiles() throws {
        try home.write(
            ".aws/credentials",
            """
            # keys
            [default]
            aws_access_key_id = DEFAULT
            aws_secret_access_key = s/e+c=ret#1 ; the first
            [work]
            AWS_ACCESS_KEY_ID=WORK
            aws_secret_access_key= two
            aws_session_token =three
            """)
        try home.write(
            ".aws/config",
            """
            [default]
            region = eu-central-1
            s3 =
                endpoint_url = http://nested
            [profile work]
            region = eu-west-9
            endpoint_url = http://work:1
            aws_access_key_id = SHADOWED
            [profile other]
            aws_access_key_id = OTHER
            aws_secret_access_key = four
            [profile sso]
            sso_session = corp
            [sso-session corp]
            aws_access_key_id = NOBODY
            [profile "with blank"]
            aws_access_key_id = BLANK
            """)
    }

    @Test func `environment variables take precedence over files`() throws {
        try writeFiles()
        let found = try credentials([
            "AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token",
            "AWS_PROFILE": "work", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x",
        ])
        #expect(
            found
                == Credentials(
                    accessKeyID: "ENV", secretAccessKey: "secret", sessionToken: "token", origin: "the environment"))
    }

    @Test(arguments: ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
    func `an incomplete key pair in the environment is refused`(name: String) {
        #expect(throws: denied) { try source([name: "x"]) }
    }

    @Test func `the default profile is read`() throws {
        try writeFiles()
        #expect(
            try credentials()
                == Credentials(accessKeyID: "DEFAULT", secretAccessKey: "s/e+c=ret#1", origin: "profile default"))
    }

    @Test func `the chosen profile is read, and the credentials file takes precedence over config`() throws {
        try writeFiles()
        #expect(
            try credentials(["AWS_PROFILE": "work"])
                == Credentials(
                    accessKeyID: "WORK", secretAccessKey: "two", sessionToken: "three", origin: "profile work"))
        #expect(try credentials(["AWS_PROFILE": "other"]).accessKeyID == "OTHER")
        #expect(try credentials(["AWS_DEFAULT_PROFILE": "other"]).accessKeyID == "OTHER")
    }

    @Test func `environment variables can set the paths of the files`() throws {
        let keys = try home.write("keys", "[default]\naws_access_key_id = A\naws_secret_access_key = b\n")
        #expect(try credentials(["AWS_SHARED_CREDENTIALS_FILE": keys]).accessKeyID == "A")
        #expect(try credentials(["AWS_SHARED_CREDENTIALS_FILE": "~/keys"]).accessKeyID == "A")
        let config = try home.write("conf", "[profile p]\naws_access_key_id = C\naws_secret_access_key = d\n")
        #expect(try credentials(["AWS_CONFIG_FILE": config, "AWS_PROFILE": "p"]).accessKeyID == "C")
    }

    @Test(arguments: ["missing", "sso", "with blank", "corp"])
    func `a chosen profile without keys is refused`(profile: String) throws {
        try writeFiles()
        #expect(throws: denied) { try source(["AWS_PROFILE": profile]) }
    }

    @Test func `region and endpoint come from the profile`() throws {
        try writeFiles()
        let environment = ["HOME": home.path]
        let usual = try S3Location("s3://notes", environment: environment)
        #expect(usual.region == "eu-central-1")
        #expect(usual.endpoint.url == "https://s3.eu-central-1.amazonaws.com")
        let work = try S3Location("s3://notes", environment: environment.merging(["AWS_PROFILE": "work"]) { $1 })
        #expect(work.region == "eu-west-9")
        #expect(work.endpoint.url == "http://work:1")
    }

    @Test func `without keys, the source is a container's credential server or the metadata service`() throws {
        #expect(try source([:]) == .instance(endpoint: "http://169.254.169.254"))
        #expect(try source(["AWS_EC2_METADATA_DISABLED": "TRUE"]) == nil)
        #expect(
            try source(["AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:1"])
                == .instance(endpoint: "http://127.0.0.1:1"))
        #expect(
            try source(["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/x"])
                == .container(url: "http://169.254.170.2/v2/x", token: nil))
        #expect(
            try source([
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": "https://keys.example.com/x",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN": "t",
            ]) == .container(url: "https://keys.example.com/x", token: .text("t")))
        #expect(
            try source([
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.23/v1/credentials",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN": "t", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/token",
            ]) == .container(url: "http://169.254.170.23/v1/credentials", token: .file("/token")))
    }

    @Test(arguments: [
        "http://example.com/x", "http://127.0.0.1.example.com/", "http://169.254.169.254/", "ftp://127.0.0.1/", "x",
    ])
    func `an insecure or invalid URL of a credential server is refused`(url: String) {
        #expect(throws: denied) { try source(["AWS_CONTAINER_CREDENTIALS_FULL_URI": url]) }
    }
}

@Suite struct CredentialChainTests {
    private let clock = TestTime()

    private func chain(_ environment: [String: String]) -> CredentialChain {
        CredentialChain(
            environment: ["HOME": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true"].merging(environment) { $1 },
            transport: HTTPTransport(variables: [:]), now: { [clock] in clock.now })
    }

    private static func document(_ id: String, expiration: String? = nil) -> ScriptedServer.Reply {
        let end = expiration.map { #","Expiration":"\#($0)""# } ?? ""
        return .text(200, [:], #"{"AccessKeyId":"\#(id)","SecretAccessKey":"hush","Token":"tok"\#(end),"RoleArn":"r"}"#)
    }

    @Test func `a container's credential server returns credentials for its token`() async throws {
        let directory = try TemporaryDirectory()
        let server = try ScriptedServer { request in
            request.headers["authorization"] == "Bearer x" ? Self.document("BOX") : .answer(401)
        }
        let environment = [
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url + "/get?role=a",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": try directory.write("token", "Bearer x\n"),
        ]
        let found = try await chain(environment).credentials()
        #expect(
            found
                == Credentials(
                    accessKeyID: "BOX", secretAccessKey: "hush", sessionToken: "tok",
                    origin: "the container's credential server"))
        #expect(server.requests.map(\.target) == ["/get?role=a"])
        await #expect(throws: StoreError(.unavailable, key: "credentials")) {
            try await chain(["AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url]).credentials()
        }
    }

    @Test func `the instance metadata service returns credentials for a session token`() async throws {
        let server = try ScriptedServer { request in
            switch (request.method, request.target) {
            case ("PUT", "/latest/api/token"): return .text(200, [:], "TOKEN")
            case ("GET", "/latest/meta-data/iam/security-credentials/")
            where request.headers["x-aws-ec2-metadata-token"] == "TOKEN":
                return .text(200, [:], "my-role")
            case ("GET", "/latest/meta-data/iam/security-credentials/my-role")
            where request.headers["x-aws-ec2-metadata-token"] == "TOKEN":
                return .text(
                    200, [:],
                    #"{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":"EC2","SecretAccessKey":"hush","Token":"tok","Expiration":"2030-01-01T00:00:00Z"}"#
                )
            default: return .answer(401)
            }
        }
        let found = try await chain([
            "AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": server.url,
        ]).credentials()
        #expect(found.accessKeyID == "EC2")
        #expect(found.expiration == Date(timeIntervalSince1970: 1_893_456_000))
        #expect(server.requests.count == 3)
    }

    @Test func `missing credentials are reported as denied, and the error says how to set them`() async throws {
        let error = await #expect(throws: StoreError(.denied, key: "credentials")) {
            try await chain([:]).credentials()
        }
        #expect(error?.detail.contains("AWS_ACCESS_KEY_ID") == true)
        // A machine without a metadata service: nothing listens at this port.
        await #expect(throws: StoreError(.denied, key: "credentials")) {
            try await chain([
                "AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:1",
            ]).credentials()
        }
    }

    @Test func `concurrent requests fetch credentials once, and they are renewed before they expire`() async throws {
        let count = Shared(Mutex(0))
        let server = try ScriptedServer { _ in
            Thread.sleep(forTimeInterval: 0.1)
            let number = count.value.withLock { count in
                count += 1
                return count
            }
            return Self.document(
                "KEY\(number)", expiration: number == 1 ? "2020-01-01T01:00:00Z" : "2020-01-01T02:00:00.5Z")
        }
        clock.now = Date(timeIntervalSince1970: 1_577_836_800)  // 2020-01-01T00:00:00Z
        let chain = chain(["AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url])
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { try await chain.credentials().accessKeyID } }
            for try await id in group { #expect(id == "KEY1") }
        }
        clock.now += 3600 - 301
        #expect(try await chain.credentials().accessKeyID == "KEY1")
        clock.now += 2
        #expect(try await chain.credentials().accessKeyID == "KEY2")
        #expect(server.requests.count == 2)
    }

    @Test func `credentials are used until they expire while their source is unavailable`() async throws {
        let isAway = Shared(Mutex(false))
        let server = try ScriptedServer { _ in
            isAway.value.withLock { $0 } ? .answer(500) : Self.document("KEY", expiration: "2020-01-01T01:00:00Z")
        }
        clock.now = Date(timeIntervalSince1970: 1_577_836_800)
        let chain = chain(["AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url])
        _ = try await chain.credentials()
        isAway.value.withLock { $0 = true }
        clock.now += 3600 - 200
        #expect(try await chain.credentials().accessKeyID == "KEY")
        #expect(try await chain.credentials().accessKeyID == "KEY")
        // The second call did not query the source.
        #expect(server.requests.count == 2)
        clock.now += 201
        await #expect(throws: StoreError(.unavailable, key: "credentials")) { try await chain.credentials() }
    }

    @Test func `rejected credentials are read again from their source`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("keys", "[default]\naws_access_key_id = OLD\naws_secret_access_key = a\n")
        let chain = chain(["AWS_SHARED_CREDENTIALS_FILE": path])
        let old = try await chain.credentials()
        try directory.write("keys", "[default]\naws_access_key_id = NEW\naws_secret_access_key = b\n")
        #expect(try await chain.credentials() == old)
        await chain.reject(old)
        let new = try await chain.credentials()
        #expect(new.accessKeyID == "NEW")
        await chain.reject(old)
        #expect(try await chain.credentials() == new)
    }

    @Test func `printing credentials never shows a secret`() {
        let credentials = Credentials(
            accessKeyID: "PUBLIC", secretAccessKey: "hush-1", sessionToken: "hush-2", origin: "the environment")
        var dumped = ""
        dump(credentials, to: &dumped)
        dump([credentials], to: &dumped)
        dump(CredentialSource.found(credentials), to: &dumped)
        for text in [
            "\(credentials)", String(describing: credentials), String(reflecting: credentials), dumped,
            "\([credentials])",
            "\(CredentialSource.found(credentials))", String(reflecting: Optional(credentials)),
        ] {
            #expect(text.contains("PUBLIC"))
            #expect(!text.contains("hush"))
        }
    }
}

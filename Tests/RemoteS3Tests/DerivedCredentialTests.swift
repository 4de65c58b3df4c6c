import AsyncHTTPClient
import Foundation
import Model
import Programs
import Remote
import Testing

@testable import RemoteS3

/// Credentials that a profile gets from a command or by assuming a role.
@Suite struct DerivedCredentialTests {
    private let clock = TestTime()
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func chain(_ config: String, _ environment: [String: String] = [:]) throws -> CredentialChain {
        var variables = ["HOME": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true"]
        variables["AWS_CONFIG_FILE"] = try directory.write("config", config)
        return CredentialChain(
            environment: variables.merging(environment) { $1 }, transport: HTTPTransport(variables: [:]),
            now: { [clock] in clock.now })
    }

    private func refusal(_ config: String, _ environment: [String: String] = [:]) async throws -> String {
        let chain = try chain(config, environment)
        do throws(StoreError) {
            return "found \(try await chain.credentials())"
        } catch {
            return "\(error.code.rawValue): \(error.detail)"
        }
    }

    // MARK: A command

    @Test func `a command prints the keys`() async throws {
        let printed = """
            {"Version": 1, "AccessKeyId": "CMD", "SecretAccessKey": "hush", "SessionToken": "tok", \
            "Expiration": "2030-01-01T00:00:00Z"}
            """
        let path = try directory.write("keys.json", printed)
        let found = try await chain("[default]\ncredential_process = cat '\(path)'").credentials()
        #expect(
            found
                == Credentials(
                    accessKeyID: "CMD", secretAccessKey: "hush", sessionToken: "tok",
                    expiration: Date(timeIntervalSince1970: 1_893_456_000),
                    origin: "the credential_process of profile default"))
    }

    @Test func `a link ends with the credentials that signed it, and after 7 days`() async throws {
        let now = Date(timeIntervalSince1970: 1_893_456_000 - 3600)
        var environment = S3Environment.system
        environment.now = { now }
        let keys = #"{"Version":1,"AccessKeyId":"CMD","SecretAccessKey":"hush","SessionToken":"t/k","#
        for (expiration, end) in [(#""Expiration":"2030-01-01T00:00:00Z"}"#, 3600), (#""X":1}"#, 7 * 86_400)] {
            let path = try directory.write("keys.json", keys + expiration)
            let config = try directory.write("config", "[default]\ncredential_process = cat '\(path)'")
            let variables = ["AWS_CONFIG_FILE": config]
            let store = S3Store(
                try S3Location("s3://notes", environment: variables), variables: variables, environment: environment)
            let link = try await store.link(
                to: "shares/x", for: ObjectLinkRequest(.file(name: "x"), lifetime: .seconds(30 * 86_400)))
            #expect(link.expires.seconds == Int64(now.timeIntervalSince1970) + Int64(end))
            #expect(link.url.contains("&X-Amz-Expires=604800&"))
            #expect(link.url.contains("&X-Amz-Security-Token=t%2Fk&"))
        }
    }

    @Test(arguments: [
        ("exit 3", "failed with status 3; run it yourself"),
        ("kill -TERM $$", "failed with status 143; run it yourself"),
        // It has a session of its own: the fourth field behind the name.
        ("set -- $(cut -d')' -f2 /proc/$$/stat); [ $4 = $$ ] && exit 7", "failed with status 7; run it yourself"),
        // It has none of our files: the fourth is the listed directory.
        ("ls /proc/self/fd | tr '\\n' ' ' >&2; exit 3", "failed with status 3: 0 1 2 3"),
        ("echo first >&2; echo 'no token' >&2; exit 1", "failed with status 1: no token"),
        ("echo '{}'", "must print a JSON object with Version 1, AccessKeyId and SecretAccessKey"),
        ("head -c 1000000 /dev/zero", "must print a JSON object with Version 1, AccessKeyId and SecretAccessKey"),
        (
            #"echo '{"Version":1,"AccessKeyId":"A","SecretAccessKey":"s","Expiration":"soon"}'"#,
            "printed an Expiration that is no time in ISO 8601"
        ),
    ])
    func `a command that gives no keys is refused with its reason`(command: String, reason: String) async throws {
        #expect(
            try await refusal("[default]\ncredential_process = \(command)")
                == "denied: the credential_process of profile default \(reason)")
    }

    @Test func `a command may print any number of messages beside its keys`() async throws {
        let keys = #"{"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "s"}"#
        let process = CredentialProcess(command: "head -c 1000000 /dev/zero >&2; echo '\(keys)'", origin: "it")
        #expect(try await process.credentials().accessKeyID == "A")
    }

    @Test func `a command may leave a program behind`() async throws {
        let keys = #"{"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "s"}"#
        let process = CredentialProcess(command: "sleep 50 & echo '\(keys)'", origin: "it")
        // The program has the ends to write of both pipes.
        #expect(try await process.credentials(limit: .seconds(40)).accessKeyID == "A")
    }

    @Test(arguments: ["exec sleep 300", "sleep 300; true"])
    func `a command that does not end is given up and ended, with what it has started`(command: String) async throws {
        let name = directory.file("running")
        let process = CredentialProcess(command: "exec 3> '\(name)'; flock 3; \(command)", origin: "it")
        await #expect(throws: StoreError(.unavailable, key: "credentials")) {
            try await process.credentials(limit: .milliseconds(500))
        }
        // The lock is free when no process has the file open any more.
        try await Program.run(["flock", "--timeout", "20", name, "true"])
    }

    @Test func `a command whose keys the store refuses is run once a minute`() async throws {
        let runs = directory.file("runs")
        let keys = #"{"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "s"}"#
        let chain = try chain("[default]\ncredential_process = echo x >> '\(runs)'; echo '\(keys)'")
        func runCount() throws -> Int { try String(contentsOfFile: runs, encoding: .utf8).count / 2 }
        for second in 0..<180 {
            await chain.reject(try await chain.credentials())
            if second == 59 { #expect(try runCount() == 1) }
            clock.now += 1
        }
        #expect(try runCount() == 3)
        // Other keys are looked for at once when the file names another command.
        let others = keys.replacingOccurrences(of: "A\"", with: "B\"")
        _ = try directory.write("config", "[default]\ncredential_process = echo '\(others)'")
        await chain.reject(try await chain.credentials())
        #expect(try await chain.credentials().accessKeyID == "B")
    }

    @Test func `a command that fails is not run for each request`() async throws {
        let runs = directory.file("runs")
        let chain = try chain("[default]\ncredential_process = echo x >> '\(runs)'; exit 3")
        for _ in 0..<20 {
            await #expect(throws: StoreError(.denied, key: "credentials")) { try await chain.credentials() }
            clock.now += 1
        }
        #expect(try String(contentsOfFile: runs, encoding: .utf8).count / 2 == 2)
    }

    // MARK: A role

    private static let role = """
        [profile work]
        role_arn = arn:aws:iam::1:role/writer
        source_profile = keys
        external_id = out & in
        [profile keys]
        aws_access_key_id = OWNER
        aws_secret_access_key = hush
        """

    private static func answer(_ action: String, expiration: String = "2030-01-01T00:00:00Z") -> ScriptedServer.Reply {
        .text(
            200, [:],
            """
            <\(action)Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><\(action)Result><Credentials>
            <AccessKeyId>ROLE</AccessKeyId><SecretAccessKey>quiet</SecretAccessKey><SessionToken>tok</SessionToken>
            <Expiration>\(expiration)</Expiration></Credentials></\(action)Result></\(action)Response>
            """)
    }

    @Test func `a role is assumed with the keys of another profile`() async throws {
        let server = try ScriptedServer { _ in Self.answer("AssumeRole") }
        let found = try await chain(
            Self.role, ["AWS_PROFILE": "work", "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_STS": server.url]
        ).credentials()
        #expect(
            found
                == Credentials(
                    accessKeyID: "ROLE", secretAccessKey: "quiet", sessionToken: "tok",
                    expiration: Date(timeIntervalSince1970: 1_893_456_000),
                    origin: "the role arn:aws:iam::1:role/writer"))
        let request = try #require(server.requests.first)
        #expect(request.method == "POST" && request.target == "/")
        #expect(
            String(decoding: request.body, as: UTF8.self)
                == "Action=AssumeRole&DurationSeconds=3600&ExternalId=out%20%26%20in"
                + "&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fwriter&RoleSessionName=dewpoint&Version=2011-06-15")
        let authorization = try #require(request.headers["authorization"])
        #expect(authorization.contains("Credential=OWNER/") && authorization.contains("/eu-west-1/sts/aws4_request"))
    }

    @Test func `a role is assumed again before its keys expire`() async throws {
        let end = clock.now.addingTimeInterval(900).formatted(.iso8601)
        let server = try ScriptedServer { _ in Self.answer("AssumeRole", expiration: end) }
        let chain = try chain(Self.role, ["AWS_PROFILE": "work", "AWS_ENDPOINT_URL": server.url])
        _ = try await chain.credentials()
        _ = try await chain.credentials()
        #expect(server.requests.count == 1)
        clock.now += 700
        _ = try await chain.credentials()
        #expect(server.requests.count == 2)
    }

    @Test func `a role is assumed with a token that is read each time`() async throws {
        let server = try ScriptedServer { _ in Self.answer("AssumeRoleWithWebIdentity") }
        let environment = [
            "AWS_WEB_IDENTITY_TOKEN_FILE": try directory.write("token", "who+i=am\n"), "AWS_ROLE_ARN": "arn:r",
            "AWS_ROLE_SESSION_NAME": "box", "AWS_ENDPOINT_URL_STS": server.url,
        ]
        #expect(try await chain("", environment).credentials().accessKeyID == "ROLE")
        let request = try #require(server.requests.first)
        #expect(request.headers["authorization"] == nil)
        #expect(
            String(decoding: request.body, as: UTF8.self)
                == "Action=AssumeRoleWithWebIdentity&DurationSeconds=3600&RoleArn=arn%3Ar&RoleSessionName=box"
                + "&Version=2011-06-15&WebIdentityToken=who%2Bi%3Dam")
    }

    @Test func `a refused role is reported with the service's reason, a silent service as unavailable`() async throws {
        let server = try ScriptedServer { _ in
            .text(
                403, [:],
                "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>")
        }
        #expect(
            try await refusal(Self.role, ["AWS_PROFILE": "work", "AWS_ENDPOINT_URL_STS": server.url])
                == "denied: the role arn:aws:iam::1:role/writer of profile work is refused: not you")
        let broken = try ScriptedServer { _ in .answer(500) }
        #expect(
            try await refusal(Self.role, ["AWS_PROFILE": "work", "AWS_ENDPOINT_URL_STS": broken.url])
                == "unavailable: \(broken.url) does not give the role arn:aws:iam::1:role/writer: status 500")
    }

    @Test(arguments: [
        ("role_arn = r", "profile default has a role_arn but no source_profile; add the profile of its keys"),
        (
            "role_arn = r\nsource_profile = a\ncredential_source = Environment",
            "profile default has a source_profile and a credential_source; remove one of them"
        ),
        (
            "role_arn = r\ncredential_source = Cloud",
            "the credential_source of profile default must be Environment, Ec2InstanceMetadata or EcsContainer, not Cloud"
        ),
        (
            "role_arn = r\ncredential_source = Environment",
            "Environment, the credential_source of profile default, gives no keys"
        ),
        (
            "role_arn = r\nsource_profile = a\nduration_seconds = 60",
            "the duration_seconds of profile default must be 900 to 43200, not 60"
        ),
        (
            "role_arn = r\nsource_profile = a",
            "there is no profile a in /nonexistent/.aws/credentials or CONFIG; check AWS_PROFILE"
        ),
        (
            "role_arn = r\nsource_profile = b\n[profile b]\nrole_arn = s\nsource_profile = default",
            "the profiles default, b, default refer to each other by source_profile"
        ),
        (
            "role_arn = r\nsource_profile = a\nmfa_serial = 1",
            "profile default gets its keys by mfa_serial, which is not supported; run this in the shell first: "
                + "eval \"$(aws configure export-credentials --profile default --format env)\""
        ),
    ])
    func `a role that cannot be assumed is refused with the setting to change`(
        settings: String, reason: String
    ) async throws {
        let config = directory.file("config")
        #expect(
            try await refusal("[default]\n\(settings)")
                == "denied: \(reason.replacingOccurrences(of: "CONFIG", with: config))")
    }

    @Test func `a profile may be the source of its own role`() async throws {
        let server = try ScriptedServer { _ in Self.answer("AssumeRole") }
        let config = """
            [default]
            role_arn = r
            source_profile = default
            aws_access_key_id = SELF
            aws_secret_access_key = hush
            """
        #expect(try await chain(config, ["AWS_ENDPOINT_URL_STS": server.url]).credentials().accessKeyID == "ROLE")
        #expect(server.requests.first?.headers["authorization"]?.contains("Credential=SELF/") == true)
    }
}

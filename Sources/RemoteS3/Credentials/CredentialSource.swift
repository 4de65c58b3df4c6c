import Foundation
import Remote

/// The possible sources of credentials, in the order of AWS's tools.
enum CredentialSource: Equatable, Sendable {
    case found(Credentials)
    /// A server for a container's processes: ECS, EKS Pod Identity, CodeBuild.
    case container(url: String, token: Token?)
    /// The metadata service of an EC2 machine.
    case instance(endpoint: String)
    /// A command that prints them.
    case process(CredentialProcess)
    /// A role that the owner of other credentials assumes.
    indirect case role(AssumedRole, by: CredentialSource)
    /// A role that the owner of a token assumes; the file is read again each time: it changes.
    case webIdentity(AssumedRole, tokenFile: String)

    /// The authorization for a container's server.
    enum Token: Equatable, Sendable {
        case text(String)
        /// Read again each time: it changes.
        case file(String)
    }

    /// Whether it is a command or a distant service.
    var isQueried: Bool {
        switch self {
        case .found, .container, .instance: false
        case .process, .role, .webIdentity: true
        }
    }

    private static let containerHost = "http://169.254.170.2"
    private static let instanceHost = "http://169.254.169.254"

    /// Reads variables and files, nothing else. Blocks for a moment.
    ///
    /// - Returns: The source to use; `nil` when none is configured and the metadata service may not be asked.
    /// - Throws: ``StoreError`` with `denied` when a source is configured but cannot be used.
    static func first(environment: [String: String]) throws(StoreError) -> CredentialSource? {
        if let credentials = try fromEnvironment(environment) { return .found(credentials) }
        if let identity = try fromWebIdentity(environment) { return identity }
        if let source = try ProfileCredentials(environment: environment).source() { return source }
        if let container = try fromContainer(environment) { return container }
        return fromInstance(environment)
    }

    static func fromInstance(_ environment: [String: String]) -> CredentialSource? {
        guard environment["AWS_EC2_METADATA_DISABLED"]?.lowercased() != "true" else { return nil }
        return .instance(endpoint: environment.nonEmpty("AWS_EC2_METADATA_SERVICE_ENDPOINT") ?? instanceHost)
    }

    static func refusal(_ sentence: String) -> StoreError { StoreError(.denied, key: "credentials", sentence) }

    static func fromEnvironment(_ environment: [String: String]) throws(StoreError) -> Credentials? {
        switch (environment.nonEmpty("AWS_ACCESS_KEY_ID"), environment.nonEmpty("AWS_SECRET_ACCESS_KEY")) {
        case (nil, nil): return nil
        case (let id?, let secret?):
            return Credentials(
                accessKeyID: id, secretAccessKey: secret, sessionToken: environment.nonEmpty("AWS_SESSION_TOKEN"),
                origin: "the environment")
        case (nil, _?): throw refusal("AWS_SECRET_ACCESS_KEY is set without AWS_ACCESS_KEY_ID; set both or neither")
        case (_?, nil): throw refusal("AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY; set both or neither")
        }
    }

    /// As Kubernetes gives a role to a process.
    private static func fromWebIdentity(_ environment: [String: String]) throws(StoreError) -> CredentialSource? {
        guard let file = environment.nonEmpty("AWS_WEB_IDENTITY_TOKEN_FILE") else { return nil }
        guard let arn = environment.nonEmpty("AWS_ROLE_ARN") else {
            throw refusal("AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN; set both or neither")
        }
        let settings = ["role_arn": arn, "role_session_name": environment["AWS_ROLE_SESSION_NAME"] ?? ""]
        return .webIdentity(
            try AssumedRole(settings, of: "the environment", environment: environment), tokenFile: file)
    }

    static func fromContainer(_ environment: [String: String]) throws(StoreError) -> CredentialSource? {
        let url: String
        if let relative = environment.nonEmpty("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
            guard relative.hasPrefix("/") else {
                throw refusal("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI must begin with a slash")
            }
            url = containerHost + relative
        } else if let full = environment.nonEmpty("AWS_CONTAINER_CREDENTIALS_FULL_URI") {
            guard mayBeTrusted(full) else {
                throw refusal(
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or http to this machine or its container host")
            }
            url = full
        } else {
            return nil
        }
        var token: Token?
        if let text = environment.nonEmpty("AWS_CONTAINER_AUTHORIZATION_TOKEN") { token = .text(text) }
        // The file takes precedence when both are set.
        if let path = environment.nonEmpty("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") { token = .file(path) }
        return .container(url: url, token: token)
    }

    /// Keys may come over plain http only if no third party can read the connection.
    private static func mayBeTrusted(_ url: String) -> Bool {
        guard let parts = URLComponents(string: url), let host = parts.host?.lowercased() else { return false }
        if parts.scheme?.lowercased() == "https" { return true }
        let near = ["localhost", "[::1]", "::1", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "fd00:ec2::23"]
        return parts.scheme?.lowercased() == "http" && (near.contains(host) || isLoopback(host))
    }

    private static func isLoopback(_ host: String) -> Bool {
        let bytes = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return bytes.count == 4 && bytes[0] == 127 && !bytes.contains(nil)
    }
}

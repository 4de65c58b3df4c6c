import Foundation
import Remote

/// The possible sources of credentials, in the order of AWS's tools.
enum CredentialSource: Equatable, Sendable {
    case found(Credentials)
    /// A server for a container's processes: ECS, EKS Pod Identity, CodeBuild.
    case container(url: String, token: Token?)
    /// The metadata service of an EC2 machine.
    case instance(endpoint: String)

    /// The authorization for a container's server.
    enum Token: Equatable, Sendable {
        case text(String)
        /// Read again each time: it changes.
        case file(String)
    }

    private static let containerHost = "http://169.254.170.2"
    private static let instanceHost = "http://169.254.169.254"

    /// Reads variables and files, nothing else. Blocks for a moment.
    ///
    /// - Returns: The source to use; `nil` when none is configured and the metadata service may not be asked.
    /// - Throws: ``StoreError`` with `denied` when a source is configured but cannot be used.
    static func first(environment: [String: String]) throws(StoreError) -> CredentialSource? {
        if let credentials = try fromEnvironment(environment) { return .found(credentials) }
        if let credentials = try fromProfile(Profile(environment: environment)) { return .found(credentials) }
        if let container = try fromContainer(environment) { return container }
        guard environment["AWS_EC2_METADATA_DISABLED"]?.lowercased() != "true" else { return nil }
        return .instance(endpoint: environment.nonEmpty("AWS_EC2_METADATA_SERVICE_ENDPOINT") ?? instanceHost)
    }

    static func refusal(_ sentence: String) -> StoreError { StoreError(.denied, key: "credentials", sentence) }

    private static func fromEnvironment(_ environment: [String: String]) throws(StoreError) -> Credentials? {
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

    /// Settings by which a profile gets keys in ways that this version does not support.
    private static let unknownWays = [
        "credential_process", "sso_session", "sso_account_id", "role_arn", "web_identity_token_file",
        "credential_source",
        "login_session",
    ]

    private static func fromProfile(_ profile: Profile) throws(StoreError) -> Credentials? {
        let place = "profile \(profile.name)"
        guard let settings = profile.settings else {
            guard profile.isChosen else { return nil }
            throw refusal(
                "there is no \(place) in \(profile.paths.credentials) or \(profile.paths.config); check AWS_PROFILE")
        }
        if let id = settings.nonEmpty("aws_access_key_id") {
            guard let secret = settings.nonEmpty("aws_secret_access_key") else {
                throw refusal("\(place) has an aws_access_key_id but no aws_secret_access_key")
            }
            return Credentials(
                accessKeyID: id, secretAccessKey: secret, sessionToken: settings.nonEmpty("aws_session_token"),
                origin: place)
        }
        if let way = unknownWays.first(where: { settings[$0] != nil }) {
            throw refusal(
                "\(place) gets its keys by \(way), which is not supported; run this in the shell first: "
                    + "eval \"$(aws configure export-credentials --profile \(profile.name) --format env)\"")
        }
        guard !profile.isChosen else { throw refusal("\(place) has no aws_access_key_id; check AWS_PROFILE") }
        return nil
    }

    private static func fromContainer(_ environment: [String: String]) throws(StoreError) -> CredentialSource? {
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

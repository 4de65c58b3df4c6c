import Remote

/// The way in which a profile gets its keys.
///
///     aws_access_key_id, aws_secret_access_key      the keys themselves
///     role_arn with source_profile                  a role, assumed with the keys of another profile
///     role_arn with credential_source               likewise with those of: Environment, Ec2InstanceMetadata,
///                                                   EcsContainer
///     role_arn with web_identity_token_file         likewise with a token
///     credential_process                            a command that prints them
///
/// Source: "Assume role credential provider" and "Process credential provider", AWS SDKs and Tools Reference Guide.
struct ProfileCredentials {
    private let environment: [String: String]
    private let profile: Profile
    /// The profiles that have led here by `source_profile`, this one included.
    private let trail: [String]

    init(environment: [String: String]) {
        self.init(environment: environment, profile: Profile(environment: environment), after: [])
    }

    private init(environment: [String: String], profile: Profile, after trail: [String]) {
        self.environment = environment
        self.profile = profile
        self.trail = trail + [profile.name]
    }

    /// How many profiles may refer to each other: 5.
    private static let trailLimit = 5
    /// Settings that need a person, or another tool's state.
    private static let unknownWays = ["sso_session", "sso_account_id", "login_session", "mfa_serial"]

    private var place: String { "profile \(profile.name)" }

    /// - Returns: `nil` when the profile does not exist and was not chosen by name, or sets no keys.
    /// - Throws: ``StoreError`` with `denied` when the profile cannot be used.
    func source() throws(StoreError) -> CredentialSource? {
        guard let settings = profile.settings else {
            guard profile.isChosen else { return nil }
            throw CredentialSource.refusal(
                "there is no \(place) in \(profile.paths.credentials) or \(profile.paths.config); check AWS_PROFILE")
        }
        if let way = Self.unknownWays.first(where: { settings[$0] != nil }) {
            throw CredentialSource.refusal(
                "\(place) gets its keys by \(way), which is not supported; run this in the shell first: "
                    + "eval \"$(aws configure export-credentials --profile \(profile.name) --format env)\"")
        }
        if let role = try role(settings) { return role }
        if let keys = try keys(settings) { return .found(keys) }
        if let command = settings.nonEmpty("credential_process") {
            return .process(CredentialProcess(command: command, origin: "the credential_process of \(place)"))
        }
        guard !profile.isChosen else {
            throw CredentialSource.refusal("\(place) has no aws_access_key_id; check AWS_PROFILE")
        }
        return nil
    }

    private func keys(_ settings: [String: String]) throws(StoreError) -> Credentials? {
        guard let id = settings.nonEmpty("aws_access_key_id") else { return nil }
        guard let secret = settings.nonEmpty("aws_secret_access_key") else {
            throw CredentialSource.refusal("\(place) has an aws_access_key_id but no aws_secret_access_key")
        }
        return Credentials(
            accessKeyID: id, secretAccessKey: secret, sessionToken: settings.nonEmpty("aws_session_token"),
            origin: place)
    }

    /// - Returns: `nil` when the profile names no role, or is led to by itself for its own keys.
    private func role(_ settings: [String: String]) throws(StoreError) -> CredentialSource? {
        guard settings.nonEmpty("role_arn") != nil, !trail.dropLast().contains(profile.name) else { return nil }
        let role = try AssumedRole(settings, of: place, environment: environment)
        if let file = settings.nonEmpty("web_identity_token_file") { return .webIdentity(role, tokenFile: file) }
        switch (settings.nonEmpty("source_profile"), settings.nonEmpty("credential_source")) {
        case (let name?, nil): return .role(role, by: try owner(name))
        case (nil, let name?): return .role(role, by: try owner(credentialSource: name))
        case (nil, nil):
            throw CredentialSource.refusal("\(place) has a role_arn but no source_profile; add the profile of its keys")
        case (_?, _?):
            throw CredentialSource.refusal("\(place) has a source_profile and a credential_source; remove one of them")
        }
    }

    private func owner(_ name: String) throws(StoreError) -> CredentialSource {
        let isLoop = trail.dropLast().contains(name)
        guard !isLoop, trail.count < Self.trailLimit else {
            throw CredentialSource.refusal(
                "the profiles \((trail + [name]).joined(separator: ", ")) refer to each other by source_profile"
                    + (isLoop ? "" : ", more than \(Self.trailLimit) deep"))
        }
        let next = ProfileCredentials(
            environment: environment, profile: Profile(environment: environment, named: name), after: trail)
        guard let source = try next.source() else {
            throw CredentialSource.refusal("profile \(name), the source_profile of \(place), has no keys")
        }
        return source
    }

    private func owner(credentialSource name: String) throws(StoreError) -> CredentialSource {
        let source: CredentialSource?
        switch name {
        case "Environment": source = try CredentialSource.fromEnvironment(environment).map { .found($0) }
        case "Ec2InstanceMetadata": source = CredentialSource.fromInstance(environment)
        case "EcsContainer": source = try CredentialSource.fromContainer(environment)
        default:
            throw CredentialSource.refusal(
                "the credential_source of \(place) must be Environment, Ec2InstanceMetadata or EcsContainer, not \(name)"
            )
        }
        guard let source else {
            throw CredentialSource.refusal("\(name), the credential_source of \(place), gives no keys")
        }
        return source
    }
}

import Foundation

/// One of the two files that contain profiles: `~/.aws/credentials` and `~/.aws/config`.
///
///     [default]                     in both
///     [profile work]                in config; [work] in credentials
///     aws_access_key_id = AKIA…     names in any case; # and ; begin comments, on a line of their own or after a blank
///         nested = value            belongs to the line above it, and is ignored
///
/// Source: "Shared config and credentials files", AWS SDKs and Tools Reference Guide.
struct ProfileFile: Sendable {
    enum Kind: Sendable { case credentials, config }

    /// The settings of each profile, by name.
    private(set) var profiles: [String: [String: String]] = [:]

    init(_ text: String, kind: Kind) {
        var profile: String?
        for line in text.split(whereSeparator: \.isNewline) {
            let content = line.trimmingCharacters(in: .whitespaces)
            guard let first = content.first, first != "#", first != ";" else { continue }
            if first == "[" {
                profile = Self.profile(header: content, kind)
                if let profile { profiles[profile, default: [:]].merge([:]) { $1 } }
                continue
            }
            guard let profile, line.first?.isWhitespace == false, let equals = content.firstIndex(of: "=") else {
                continue
            }
            let name = content[..<equals].trimmingCharacters(in: .whitespaces).lowercased()
            profiles[profile, default: [:]][name] = Self.value(content[content.index(after: equals)...])
        }
    }

    /// - Returns: `nil` for a section that is no profile, such as `[sso-session x]`.
    private static func profile(header: String, _ kind: Kind) -> String? {
        guard let end = header.firstIndex(of: "]") else { return nil }
        let words = header[header.index(after: header.startIndex)..<end]
            .split(maxSplits: 1, whereSeparator: { $0 == " " || $0 == "\t" })
            .map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " \t\"'")) }
        switch (kind, words.count) {
        case (_, 1) where kind == .credentials || words[0] == "default": return words[0]
        case (.config, 2) where words[0] == "profile": return words[1]
        default: return nil
        }
    }

    private static func value(_ text: Substring) -> String {
        var value = text
        for mark in [" #", " ;", "\t#", "\t;"] {
            if let comment = value.range(of: mark) { value = value[..<comment.lowerBound] }
        }
        return value.trimmingCharacters(in: .whitespaces)
    }
}

/// The profile that the environment selects, merged from both files.
struct Profile: Sendable {
    let name: String
    /// Whether it was selected by name; otherwise it is the one called `default`, which may be missing.
    let isChosen: Bool
    /// `nil` when neither file has it.
    let settings: [String: String]?
    /// The files, for messages.
    let paths: (credentials: String, config: String)

    /// Reads the files that `AWS_PROFILE`, `AWS_SHARED_CREDENTIALS_FILE` and `AWS_CONFIG_FILE` select. Blocks for a
    /// moment.
    ///
    /// - Parameters:
    ///   - environment: Also for `HOME`.
    ///   - given: The profile, if another one names it.
    init(environment: [String: String], named given: String? = nil) {
        let chosen = given ?? environment.nonEmpty("AWS_PROFILE") ?? environment.nonEmpty("AWS_DEFAULT_PROFILE")
        name = chosen ?? "default"
        isChosen = chosen != nil
        let home = environment.nonEmpty("HOME") ?? NSHomeDirectory()
        func path(_ variable: String, _ usual: String) -> String {
            let path = environment.nonEmpty(variable) ?? "~/.aws/\(usual)"
            return path.hasPrefix("~/") ? home + path.dropFirst(1) : path
        }
        paths = (path("AWS_SHARED_CREDENTIALS_FILE", "credentials"), path("AWS_CONFIG_FILE", "config"))
        let config = Self.read(paths.config, .config)[name]
        let credentials = Self.read(paths.credentials, .credentials)[name]
        settings = config == nil && credentials == nil ? nil : (config ?? [:]).merging(credentials ?? [:]) { $1 }
    }

    /// Makes paths absolute: a daemon changes its working directory, and reads the files again later.
    static func withAbsolutePaths(_ environment: [String: String]) -> [String: String] {
        var environment = environment
        let names = [
            "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
            "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CA_BUNDLE", "SSL_CERT_FILE",
        ]
        for name in names {
            guard let path = environment.nonEmpty(name), !path.hasPrefix("/"), !path.hasPrefix("~/") else { continue }
            environment[name] = "\(FileManager.default.currentDirectoryPath)/\(path)"
        }
        return environment
    }

    /// A file that is missing or unreadable has no profiles; the error for a missing profile names the files.
    private static func read(_ path: String, _ kind: ProfileFile.Kind) -> [String: [String: String]] {
        guard let data = FileManager.default.contents(atPath: path) else { return [:] }
        return ProfileFile(String(decoding: data, as: UTF8.self), kind: kind).profiles
    }
}

extension [String: String] {
    /// The value of a variable; an empty one counts as unset.
    func nonEmpty(_ name: String) -> String? {
        guard let value = self[name], !value.isEmpty else { return nil }
        return value
    }
}

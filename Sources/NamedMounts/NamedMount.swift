package import Model

/// A mount with a name: what `dewpoint mount NAME` mounts, where and how. A table of the mounts file:
///
///     [mounts.notes]
///     url = "s3://my-notes/work"              the container
///     mountpoint = "~/Work"                   absolute, or below the home directory
///     endpoint = "https://s3.example.com"     of the bucket's service
///     region = "eu-1"                         of the bucket
///     device_name = "desk"                    1 to 255 bytes
///     state = "/mnt/large/notes-state"        absolute, or below the home directory
///     options = ["free_space=10%", "nosuid"]  as of -o
///     autostart = true                        by default false
///     ignore = ["node_modules/", "*.o"]       patterns of gitignore(5)
///
///     [mounts.notes.rules."Pictures/raw"]     of a directory of the mount
///     evict_after = "7d"                      as the mount option, or off
///
/// Only `url` and `mountpoint` are required.
package struct NamedMount: Equatable, Sendable {
    package var name: MountName
    package var url: String
    package var mountpoint: String
    package var endpoint: String?
    package var region: String?
    package var deviceName: String?
    package var state: String?
    package var options: [String] = []
    package var autostart = false
    package var ignore: [String] = []
    /// In the order of their paths.
    package var rules: [PathRules] = []

    package init(name: MountName, url: String, mountpoint: String) {
        self.name = name
        self.url = url
        self.mountpoint = mountpoint
    }

    /// The keys of a table, in the order in which they are written.
    enum Key: String, CaseIterable {
        case url, mountpoint, endpoint, region
        case deviceName = "device_name"
        case state, options, autostart, ignore, rules
    }

    /// The longest device name in bytes; see the container format.
    package static let deviceNameByteLimit = 255
}

extension NamedMount {
    /// A path of the mounts file as an absolute one.
    ///
    /// - Parameter home: What `~` stands for.
    /// - Returns: `nil` for a relative path, and for `~USER`.
    static func absolute(_ path: String, home: String) -> String? {
        if path == "~" { return home }
        if path.hasBytePrefix("~/") { return home + path.droppingBytes(1) }
        return ItemPath(path).isAbsolute ? path : nil
    }
}

extension NamedMount {
    /// Its table in the mounts file, with a line end.
    var table: String {
        var lines = ["[mounts.\(Self.key(name.description))]"]
        for key in Key.allCases {
            let value: String? =
                switch key {
                case .url: Self.literal(url)
                case .mountpoint: Self.literal(mountpoint)
                case .endpoint: endpoint.map(Self.literal)
                case .region: region.map(Self.literal)
                case .deviceName: deviceName.map(Self.literal)
                case .state: state.map(Self.literal)
                case .options: Self.literal(options)
                case .autostart: autostart ? "true" : nil
                case .ignore: Self.literal(ignore)
                case .rules: nil
                }
            if let value { lines.append("\(key.rawValue) = \(value)") }
        }
        for rules in rules {
            lines += ["", "[mounts.\(Self.key(name.description)).\(Key.rules.rawValue).\(Self.literal(rules.path))]"]
            for rule in DirectoryRule.allCases {
                guard let limit = rules.limits[rule] else { continue }
                lines.append("\(rule.rawValue) = \(Self.literal(rule.text(limit)))")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A key: bare if its characters allow it.
    private static func key(_ name: String) -> String { name.contains(".") ? literal(name) : name }

    private static func literal(_ texts: [String]) -> String? {
        texts.isEmpty ? nil : "[\(texts.map(literal).joined(separator: ", "))]"
    }

    private static func literal(_ text: String) -> String {
        let escaped = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"": "\\\""
            case "\\": "\\\\"
            case "\u{0}"..."\u{1f}", "\u{7f}":
                "\\u" + String(repeating: "0", count: scalar.value < 16 ? 3 : 2) + String(scalar.value, radix: 16)
            default: String(scalar)
            }
        }
        return "\"\(escaped.joined())\""
    }
}

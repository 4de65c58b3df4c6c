import Foundation
import Model

/// Makes texts fit to be given away: without keys, and unless asked otherwise without names of files.
///
/// Names become pseudonyms, the same for the same name within one archive: `name-1`, `name-2`. In sentences, such as
/// lines of a log, each word that Dewpoint's own messages do not use counts as a name (``LogVocabulary``); numbers stay.
struct Redaction {
    /// Whether names of files stay as they are.
    let keepsNames: Bool
    /// Secrets known by their values.
    private let secrets: [String]
    private var pseudonyms: [ItemPath: String] = [:]

    /// Shorter values are too common to be searched for.
    private static let secretLengthLimit = 8

    /// - Parameter environment: Variables that may have keys.
    init(keepsNames: Bool, environment: [String: String]) {
        self.keepsNames = keepsNames
        secrets = environment.filter { name, value in
            value.count >= Self.secretLengthLimit && Self.secretNames.contains { name.uppercased().contains($0) }
        }.map(\.value).sorted { $0.count > $1.count }
    }

    private static let secretNames = ["SECRET", "TOKEN", "PASSWORD", "ACCESS_KEY", "CREDENTIAL"]
    private static let removed = "(removed)"

    // MARK: Keys

    /// A text without keys: of Amazon's form, after a word such as `secret`, within an URL, in the link to a share, or known by
    /// value.
    func withoutKeys(_ text: String) -> String {
        var text = text
        for secret in secrets { text = text.replacing(secret, with: Self.removed) }
        text = text.replacing(/\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b/, with: Self.removed)
        text = text.replacing(/:\/\/[^\/\s@]+@/, with: "://\(Self.removed)@")
        // The key of a shared file, in its link.
        text = text.replacing(/#2\.[A-Za-z0-9_-]{43}/, with: "#\(Self.removed)")
        return text.replacing(
            /(?i)(secret[a-z_-]*|[a-z_-]*token|password|authorization|credential|x-amz-signature)(["']?\s*[=:]\s*)["']?[^\s"',&]+/
        ) { "\($0.output.1)\($0.output.2)\(Self.removed)" }
    }

    // MARK: Names

    mutating func pseudonym(_ name: String) -> String {
        if let known = pseudonyms[ItemPath(name)] { return known }
        let fresh = "name-\(pseudonyms.count + 1)"
        pseudonyms[ItemPath(name)] = fresh
        return fresh
    }

    /// Each component of a path becomes a pseudonym.
    mutating func path(_ path: String) -> String {
        guard !keepsNames else { return withoutKeys(path) }
        return path.splitBytes(at: ItemPath.separator, omittingEmptySubsequences: false).map {
            $0.isEmpty ? "" : pseudonym(String($0))
        }.joined(separator: "/")
    }

    /// A sentence or the lines of a log.
    mutating func sentence(_ text: String) -> String {
        let text = withoutKeys(text)
        guard !keepsNames else { return text }
        return text.splitBytes(at: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line($0) }.joined(
            separator: "\n")
    }

    private mutating func line(_ line: Substring) -> String {
        var result = ""
        var rest = line
        // The time of a log line.
        if let time = rest.prefixMatch(of: /\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d{4})?/) {
            result += time.output
            rest = rest[time.range.upperBound...]
        }
        while let start = rest.firstIndex(where: { !Self.isSeparator($0) }) {
            result += rest[..<start]
            let end = rest[start...].firstIndex(where: Self.isSeparator) ?? rest.endIndex
            result += word(rest[start..<end])
            rest = rest[end...]
        }
        return result + rest
    }

    private static func isSeparator(_ character: Character) -> Bool {
        character.isWhitespace || #"()[]{}<>,;:="'`|"#.contains(character)
    }

    /// Whether a part of a word says nothing of names: a number, or a word of Dewpoint's messages.
    private static func isOwn(_ part: Substring) -> Bool {
        part.allSatisfy { $0.isASCII && ($0.isNumber || "-+.%".contains($0)) }
            || LogVocabulary.words.contains(part.lowercased())
    }

    private mutating func word(_ word: Substring) -> String {
        let bare = word.trimmingSuffix { ".!?".contains($0) }
        let parts = bare.splitBytes(at: ItemPath.separator, omittingEmptySubsequences: false).map { part in
            Self.isOwn(part) ? String(part) : pseudonym(String(part))
        }
        return parts.joined(separator: "/") + word[bare.endIndex...]
    }
}

extension Substring {
    fileprivate func trimmingSuffix(while isTrimmed: (Character) -> Bool) -> Substring {
        var text = self
        while let last = text.last, isTrimmed(last) { text.removeLast() }
        return text
    }
}

// MARK: - JSON

extension Redaction {
    /// What the strings of a key hold.
    private enum Part { case plain, path, sentence }

    private static func part(_ key: String) -> Part {
        switch key {
        case "path", "mountpoint", "state", "remote", "name", "deviceName", "address", "program", "command",
            "container":
            .path
        case "problem", "reason", "detail": .sentence
        default: .plain
        }
    }

    /// The text of a value of the control API, with the strings of its keys made fit to be given away.
    mutating func json(_ value: some Encodable) throws -> String {
        let object = try JSONSerialization.jsonObject(
            with: try JSONEncoder().encode(value), options: .fragmentsAllowed)
        let data = try JSONSerialization.data(
            withJSONObject: redacted(object, .plain),
            options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes, .fragmentsAllowed])
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    private mutating func redacted(_ value: Any, _ part: Part) -> Any {
        switch value {
        case let object as [String: Any]:
            var result: [String: Any] = [:]
            for (key, value) in object.sorted(by: { $0.key < $1.key }) {
                // Those of fast paths and storms are Dewpoint's own words, those of devices are not.
                let isOwn =
                    (key == "name" || key == "state") && object["mountpoint"] == nil && object["device"] == nil
                result[key] = redacted(value, isOwn ? .plain : Self.part(key))
            }
            return result
        case let list as [Any]: return list.map { redacted($0, part) }
        case let text as String:
            switch part {
            case .plain: return withoutKeys(text)
            case .path: return path(text)
            case .sentence: return sentence(text)
            }
        default: return value
        }
    }
}

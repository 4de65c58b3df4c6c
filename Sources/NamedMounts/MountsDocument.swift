import Daemon
import Model
import TOMLKit

/// The contents of a mounts file: its mounts, and what is wrong in it.
package struct MountsDocument: Sendable {
    /// A mistake, and where it is.
    package struct Problem: Error, Equatable, Sendable {
        /// The mount that it concerns; `nil` if it concerns the whole file.
        package var name: String?
        /// From 1.
        package var line: Int
        /// From 1, in Unicode scalars.
        package var column: Int
        package var sentence: String
    }

    package let text: String
    /// The mounts that can be read, in the order of the file.
    package private(set) var mounts: [NamedMount] = []
    /// In the order of the file.
    package private(set) var problems: [Problem] = []

    let surroundings: MountSurroundings

    package init(_ text: String, _ surroundings: MountSurroundings) {
        self.text = text
        self.surroundings = surroundings
        let outline = TOMLOutline(text)
        if let obstacle = outline.obstacle {
            problems = [
                Problem(
                    line: obstacle.position.line, column: obstacle.position.column,
                    sentence: "this is not valid TOML: \(obstacle.sentence)")
            ]
            return
        }
        do {
            try read(try TOMLTable(string: text), outline)
        } catch let error as TOMLParseError {
            let place = error.source.begin
            problems = [
                Problem(
                    line: place.line, column: place.column, sentence: "this is not valid TOML: \(error.description)")
            ]
        } catch {
            problems = [Problem(line: 1, column: 1, sentence: "the file cannot be read: \(error)")]
        }
        problems.sort { ($0.line, $0.column) < ($1.line, $1.column) }
    }

    /// A mount that is written correctly.
    ///
    /// - Returns: `nil` if there is none of that name.
    /// - Throws: The first ``Problem`` that concerns it.
    package func mount(_ name: MountName) throws(Problem) -> NamedMount? {
        if let problem = problems.first(where: { [nil, name.description].contains($0.name) }) { throw problem }
        return mounts.first { $0.name == name }
    }

    /// The one name that somebody probably meant.
    package func nearest(to name: String) -> String? {
        Spelling.nearest(to: name, among: mounts.map(\.name.description))
    }

    private mutating func read(_ root: TOMLTable, _ outline: TOMLOutline) throws {
        for key in root.keys where key != Self.root {
            let hint = Spelling.nearest(to: key, among: [Self.root]) == nil ? "" : "; did you mean mounts?"
            problems.append(
                Problem(
                    [key], outline, nil,
                    "there is no key \(key) at the top of this file, only tables [mounts.NAME]\(hint)"))
        }
        guard let value = root[Self.root] else { return }
        guard let tables = value.table else {
            problems.append(Problem([Self.root], outline, nil, "mounts must be tables, each written as [mounts.NAME]"))
            return
        }
        for text in tables.keys.sorted(by: { outline.place(of: $0) < outline.place(of: $1) }) {
            read(text, tables[text]?.table, outline)
        }
    }

    /// The table of all mounts.
    static let root = "mounts"

    private mutating func read(_ text: String, _ table: TOMLTable?, _ outline: TOMLOutline) {
        let path = [Self.root, text]
        let name: MountName
        do throws(DaemonError) {
            name = try MountName(text)
        } catch {
            problems.append(Problem(path, outline, text, error.description))
            return
        }
        guard let table else {
            problems.append(Problem(path, outline, text, "a mount is a table, written as [mounts.\(text)]"))
            return
        }
        var reader = MountTableReader(name: name, table: table, outline: outline)
        guard let mount = reader.mount() else {
            problems += reader.problems
            return
        }
        var mistakes = mount.mistakes(in: surroundings)
        if mistakes.isEmpty { mistakes = mounts.compactMap { mount.conflict(with: $0, in: surroundings) } }
        problems += reader.problems
        problems += mistakes.map {
            Problem(path + [$0.key.rawValue], element: $0.element, outline, text, $0.sentence)
        }
        mounts.append(mount)
    }
}

extension TOMLOutline {
    /// Where a mount is mentioned first.
    fileprivate func place(of mount: String) -> Position {
        first(in: [MountsDocument.root, mount])?.position ?? Position(line: .max, column: 1)
    }
}

extension MountsDocument.Problem {
    /// - Parameters:
    ///   - path: The value that is wrong, or is missing.
    ///   - element: The index in an array.
    init(
        _ path: [String], element: Int? = nil, _ outline: TOMLOutline, _ name: String?, _ sentence: String
    ) {
        let statement = outline.statement(of: path) ?? outline.first(in: path)
        var place = statement?.position ?? .init(line: 1, column: 1)
        if let statement, let element, element < statement.elements.count { place = statement.elements[element] }
        self.init(name: name, line: place.line, column: place.column, sentence: sentence)
    }
}

/// Reads one table of the mounts file.
private struct MountTableReader {
    let name: MountName
    let table: TOMLTable
    let outline: TOMLOutline
    var problems: [MountsDocument.Problem] = []

    init(name: MountName, table: TOMLTable, outline: TOMLOutline) {
        self.name = name
        self.table = table
        self.outline = outline
    }

    /// - Returns: `nil` when a required key is missing, or a value has another type than its key.
    mutating func mount() -> NamedMount? {
        noteUnknownKeys()
        let (url, mountpoint) = (text(.url, isRequired: true), text(.mountpoint, isRequired: true))
        var mount = NamedMount(name: name, url: url ?? "", mountpoint: mountpoint ?? "")
        mount.endpoint = text(.endpoint)
        mount.region = text(.region)
        mount.deviceName = text(.deviceName)
        mount.state = text(.state)
        mount.options = texts(.options)
        mount.ignore = texts(.ignore)
        if let value = table[NamedMount.Key.autostart.rawValue] {
            if let autostart = value.bool { mount.autostart = autostart } else { noteType(.autostart, "true or false") }
        }
        mount.rules = rules()
        return url == nil || mountpoint == nil ? nil : mount
    }

    private mutating func noteUnknownKeys() {
        let keys = NamedMount.Key.allCases.map(\.rawValue)
        for key in table.keys where !keys.contains(key) {
            let hint =
                Spelling.nearest(to: key, among: keys).map { "did you mean \($0)?" }
                ?? "the keys are \(keys.joined(separator: ", "))"
            note([key], "a mount has no key \(key); \(hint)")
        }
    }

    private mutating func text(_ key: NamedMount.Key, isRequired: Bool = false) -> String? {
        guard let value = table[key.rawValue] else {
            if isRequired { note([], "the mount \(name) has no \(key.rawValue); add a line: \(key.rawValue) = \"…\"") }
            return nil
        }
        if let text = value.string { return text }
        noteType(key, "a text in quotes")
        return nil
    }

    private mutating func texts(_ key: NamedMount.Key) -> [String] {
        guard let value = table[key.rawValue] else { return [] }
        let expected = "a list of texts, as in [\"…\", \"…\"]"
        guard let array = value.array else {
            noteType(key, expected)
            return []
        }
        let texts = array.compactMap { $0.string }
        if texts.count != array.count { noteType(key, expected) }
        return texts
    }

    /// The tables `[mounts.NAME.rules."DIRECTORY"]`.
    private mutating func rules() -> [PathRules] {
        guard let value = table[NamedMount.Key.rules.rawValue] else { return [] }
        let expected = "tables, each written as [mounts.\(name).rules.\"DIRECTORY\"]"
        guard let tables = value.table else {
            noteType(.rules, expected)
            return []
        }
        var rules: [PathRules] = []
        for path in tables.keys.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            let place = [NamedMount.Key.rules.rawValue, path]
            guard let table = tables[path]?.table else {
                note(place, "the rules of \(path) must be \(expected)")
                continue
            }
            let limits = limits(table, place)
            do throws(FileError) {
                rules.append(try PathRules(path: path, limits: limits))
            } catch {
                note(place, error.detail)
            }
        }
        if rules.count > PathRules.countLimit {
            note(
                [NamedMount.Key.rules.rawValue],
                "there are rules for at most \(PathRules.countLimit) directories, not \(rules.count)")
        }
        return rules
    }

    private mutating func limits(_ table: TOMLTable, _ place: [String]) -> [DirectoryRule: DirectoryRule.Limit] {
        var limits: [DirectoryRule: DirectoryRule.Limit] = [:]
        for key in table.keys {
            do throws(FileError) {
                let rule = try RulesOption.rule(named: key)
                guard let text = table[key]?.string else {
                    throw FileError(.invalid, "\(key) must be a text in quotes: \(rule.accepted)")
                }
                limits[rule] = try rule.limit(text)
            } catch {
                note(place + [key], error.detail)
            }
        }
        return limits
    }

    private mutating func noteType(_ key: NamedMount.Key, _ expected: String) {
        note([key.rawValue], "\(key.rawValue) must be \(expected)")
    }

    private mutating func note(_ keys: [String], _ sentence: String) {
        problems.append(
            .init([MountsDocument.root, name.description] + keys, outline, name.description, sentence))
    }
}

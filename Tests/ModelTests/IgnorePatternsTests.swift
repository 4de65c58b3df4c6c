import Foundation
import Model
import SeededRandomness
import Testing

@Suite struct IgnorePatternsTests {
    /// Whether an item is ignored, or a directory above it.
    private static func ignores(_ patterns: IgnorePatterns, _ path: String, isDirectory: Bool) -> Bool {
        let names = path.utf8.split(separator: UInt8(ascii: "/")).map(Array.init)
        return names.indices.contains { last in
            let sample = ItemSample(new: isDirectory || last < names.count - 1 ? .directory : .file)
            // Only reading a file could fail.
            return try! patterns.ignores(name: names[last], sample) {
                Array(names[...last].joined(separator: [UInt8(ascii: "/")]))
            }
        }
    }

    @Test(arguments: [
        (["node_modules/"], "a/node_modules/b/c", false, true), (["node_modules/"], "a/node_modules", false, false),
        (["*.o", "!keep.o"], "a/b.o", false, true), (["*.o", "!keep.o"], "a/keep.o", false, false),
        (["/build"], "build", true, true), (["/build"], "a/build", true, false), (["a/b"], "x/a/b", false, false),
        (["**/a/b"], "x/a/b", false, true), (["a/**"], "a", true, false), (["a/**"], "a/b/c", false, true),
        (["a/**/b"], "a/b", false, true), (["a/*/b"], "a/b", false, false), (["[a-c]?"], "x/b1", false, true),
        (["\\#a", "#b"], "#a", false, true), (["#b"], "#b", false, false), (["a\\ "], "a ", false, true),
        (["build/", "!build/keep"], "build/keep", false, true), (["*"], "é", false, true),
    ])
    func `a pattern means what it means in a gitignore file`(
        _ patterns: [String], _ path: String, _ isDirectory: Bool, _ expected: Bool
    ) {
        #expect(Self.ignores(IgnorePatterns(patterns), path, isDirectory: isDirectory) == expected)
    }

    @Test func `later patterns win over those that they follow`() {
        let patterns = IgnorePatterns(["*.tmp"]).followed(by: ["!lu*.tmp", "a/b"])
        #expect(!Self.ignores(patterns, "lu1.tmp", isDirectory: false))
        #expect(Self.ignores(patterns, "x.tmp", isDirectory: false))
        #expect(patterns.needsPaths && !IgnorePatterns(["*.tmp", "a/"]).needsPaths)
    }

    /// Random patterns, malformed ones among them, on a random tree: the same answers as git gives.
    @Test(.enabled(if: system("git --version >/dev/null 2>&1") == 0), arguments: 1...4 as ClosedRange<UInt64>)
    func `random patterns match what git check-ignore matches`(_ seed: UInt64) throws {
        let repository = try GitRepository(seed: seed)
        var writer = PatternWriter(seed: seed)
        var ignoredCount = 0
        for _ in 0..<60 {
            let patterns = writer.patterns()
            let expected = try repository.ignored(by: patterns)
            let found = repository.items.map {
                Self.ignores(IgnorePatterns(patterns), $0.path, isDirectory: $0.isDirectory)
            }
            for (item, (mine, git)) in zip(repository.items, zip(found, expected)) where mine != git {
                Issue.record("\(patterns) on \(item.path): git says \(git)")
            }
            ignoredCount += expected.count { $0 }
        }
        #expect(ignoredCount > 100)
    }
}

/// Writes random patterns.
private struct PatternWriter {
    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    private static let atoms = [
        "a", "b", "o", ".", "foo", "bar", "build", "x", "1", "A", "é", " ", "-", "*", "*", "*", "?", "**", "[a-c]",
        "[!a]",
        "[^b]", "[[:alpha:]]", "[[:digit:]]", "[[:space:]]", "[]a]", "[a", "[a-", "[\\]]", "[a\\-c]", "[[:bad:]]",
        "[-a]", "[a-]", "[!]", "[[a]", "[[:alpha:]-z]", "\\a", "\\*", "\\ ", "\\#", "\\!", "\\\\", "\\[", "\\",
    ]
    private static let wholes = [
        "", "#a", "/", "**", "/**", "**/", "!", "!/", "   ", "a/", "*/", "/*", "***", "a/**", "**/a", "a/**/b", "a**b",
        "a   ", "a\\ ",
    ]

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }

    private mutating func name() -> String {
        (0..<Int.random(in: 1...3, using: &generator)).map { _ in Self.atoms.randomElement(using: &generator) ?? "" }
            .joined()
    }

    private mutating func pattern() -> String {
        if chance(5) { return Self.wholes.randomElement(using: &generator) ?? "" }
        let count = chance(60) ? 1 : chance(60) ? 2 : 3
        var text = (0..<count).map { _ in chance(10) ? "**" : name() }.joined(separator: "/")
        if chance(20) { text = "/" + text }
        if chance(25) { text += "/" }
        if chance(20) { text = "!" + text }
        return text
    }

    mutating func patterns() -> [String] { (0..<Int.random(in: 1...3, using: &generator)).map { _ in pattern() } }
}

/// A repository with a random tree.
private final class GitRepository {
    private let directory: String
    private(set) var items: [(path: String, isDirectory: Bool)] = []

    private static let names = [
        "a", "b", "ab", "a.o", "b.o", ".a", "a b", "foo", "bar", "build", "x#", "#x", "!x", "[a]", "a-b", "é", "1", "A",
        "a\\b", "*", "foo.tar", "~$d", "a ",
    ]

    init(seed: UInt64) throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "ignore-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try #require(system("git init -q '\(directory)'") == 0)
        var generator = SeededGenerator(seed: seed)
        try grow(below: "", depth: 0, &generator)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    private func grow(below parent: String, depth: Int, _ generator: inout SeededGenerator) throws {
        for name in Self.names.shuffled(using: &generator).prefix(depth < 2 ? 6 : 3) {
            let path = parent + name
            let isDirectory = depth < 3 && Bool.random(using: &generator)
            items.append((path, isDirectory))
            if isDirectory {
                try FileManager.default.createDirectory(
                    atPath: "\(directory)/\(path)", withIntermediateDirectories: false)
                try grow(below: path + "/", depth: depth + 1, &generator)
            } else {
                try Data().write(to: URL(filePath: "\(directory)/\(path)"))
            }
        }
    }

    /// Whether git ignores each item.
    func ignored(by patterns: [String]) throws -> [Bool] {
        let (input, output) = ("\(directory)/.git/input", "\(directory)/.git/output")
        try Data((patterns.joined(separator: "\n") + "\n").utf8).write(
            to: URL(filePath: "\(directory)/.git/info/exclude"))
        try Data(items.map { $0.path + "\0" }.joined().utf8).write(to: URL(filePath: input))
        _ = system("git -C '\(directory)' check-ignore --no-index --stdin -z -v -n <'\(input)' >'\(output)'")
        // For each item: the file, the line, the pattern, the path.
        let fields = try Data(contentsOf: URL(filePath: output)).split(separator: 0, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        try #require(fields.count == items.count * 4 + 1)
        return items.indices.map { !fields[$0 * 4 + 2].isEmpty && !fields[$0 * 4 + 2].hasPrefix("!") }
    }
}

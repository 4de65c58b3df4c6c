import Foundation
import Glibc
import Model
import SeededRandomness
import Linux
import Testing

@testable import Replica

/// Long runs of random changes and crashes, compared with a model of the tree.
@Suite struct RandomCrashTests {
    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8])
    func `after every crash the tree is in its state before or after the change`(_ seed: UInt64) throws {
        var run = try RandomRun(seed: seed)
        for _ in 0..<150 { try run.step() }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6])
    func `an index rolled back by a power failure has all its bytes`(_ seed: UInt64) throws {
        var run = try RandomRun(seed: seed)
        for _ in 0..<60 { try run.step() }
        try run.fallBack(changes: 20)
    }
}

/// The expected tree by path: directories, and files with their bytes.
private struct ModelTree: Equatable {
    enum Node: Equatable {
        case directory
        /// The file's key in ``bytes``, so that two names can share one file.
        case file(Int)
    }

    var nodes: [String: Node] = [:]
    var bytes: [Int: String] = [:]

    var shown: [String: String] {
        nodes.mapValues { node in
            switch node {
            case .directory: "directory"
            case .file(let number): bytes[number] ?? "?"
            }
        }
    }

    func inside(_ directory: String) -> [String] {
        nodes.keys.filter { $0.hasPrefix(directory + "/") }
    }

    mutating func move(_ old: String, to new: String) {
        let moved = [old] + inside(old)
        let taken = moved.map { (path: $0, node: nodes[$0]) }
        for path in moved { nodes[path] = nil }
        for (path, node) in taken { nodes[new + path.dropFirst(old.count)] = node }
    }

    mutating func exchange(_ one: String, _ other: String) {
        move(one, to: "\u{1}")
        move(other, to: one)
        move("\u{1}", to: other)
    }
}

private struct RandomRun {
    private let lab: Lab
    private var tree = ModelTree()
    private var random: SeededGenerator
    private var fileCount = 0
    private static let names = ["a", "b", "c", "d", ".c.icloud", "x.nosync", "é"]

    init(seed: UInt64) throws {
        lab = try Lab()
        random = SeededGenerator(seed: seed)
    }

    private var paths: [String] { tree.nodes.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
    private var files: [String] { paths.filter { tree.nodes[$0] != .directory } }
    private var directories: [String] { [""] + paths.filter { tree.nodes[$0] == .directory } }

    private mutating func newPath() -> String {
        let directory = directories.randomElement(using: &random) ?? ""
        let name = Self.names.randomElement(using: &random) ?? "a"
        return directory.isEmpty ? name : "\(directory)/\(name)"
    }

    private func split(_ path: String) throws -> (InodeNumber, ItemName) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (.root, try ItemName(path)) }
        return (
            try lab.inode(String(path[..<slash])), try ItemName(String(path[path.utf8.index(after: slash)...]))
        )
    }

    mutating func step() throws {
        let before = tree
        guard let change = try plan() else { return }
        let after = tree
        if Int.random(in: 0..<3, using: &random) == 0 { lab.crash.arm(Int.random(in: 1...8, using: &random)) }
        do { try change() } catch {
            guard lab.crash.crashedAt != nil else { throw error }
        }
        let crashed = lab.crash.crashedAt
        lab.crash.disarm()
        if crashed != nil {
            try Int.random(in: 0..<4, using: &random) == 0 ? lab.losePowerAndOpen() : lab.killAndOpen()
        } else if Int.random(in: 0..<20, using: &random) == 0 {
            try lab.restart()
        }
        let differences = try lab.replica.check()
        #expect(differences == [], "after \(String(describing: crashed))")
        let found = try look()
        if agree(found, after) { return }
        let isBefore = crashed != nil && agree(found, before)
        #expect(isBefore, "\(found)\nis neither\n\(before.shown)\nnor\n\(after.shown)")
        tree = before
        if !isBefore { throw FileError(.inputOutput, "the run cannot go on") }
    }

    /// Changes names and then rolls the index back, as a power failure may; the disk keeps the changes.
    mutating func fallBack(changes: Int) throws {
        try lab.replica.makeDurable()
        let kept = "\(lab.path)/kept"
        let parts = ["index.sqlite", "index.sqlite-wal"]
        try FileManager.default.createDirectory(atPath: kept, withIntermediateDirectories: false)
        for part in parts {
            try FileManager.default.copyItem(atPath: "\(lab.path)/\(part)", toPath: "\(kept)/\(part)")
        }
        let before = tree
        for _ in 0..<changes { try planNames()?() }
        lab.replica.abandon()
        // The shared-memory index belongs to the write-ahead log.
        unlink("\(lab.path)/index.sqlite-shm")
        for part in parts {
            unlink("\(lab.path)/\(part)")
            try FileManager.default.moveItem(atPath: "\(kept)/\(part)", toPath: "\(lab.path)/\(part)")
        }
        try lab.losePowerAndOpen()
        #expect(try lab.replica.check() == [])
        #expect(lab.replica.repairReport.lostCount == 0)
        let found = try look()
        #expect(contains(found, before), "\(found)\nhas not all of\n\(before.shown)")
    }

    private mutating func planNames() throws -> (() throws -> Void)? {
        switch Int.random(in: 0..<9, using: &random) {
        case 0: try planCreate()
        case 1: planDirectory()
        case 2, 3: planUnlink()
        case 4: planRemoveDirectory()
        case 5, 6: planRename()
        case 7: planExchange()
        default: planLink()
        }
    }

    /// Whether the trees have the same paths, bytes and hard links.
    private func agree(_ found: [String: Seen], _ expected: ModelTree) -> Bool {
        found.count == expected.nodes.count && contains(found, expected)
    }

    private func contains(_ found: [String: Seen], _ expected: ModelTree) -> Bool {
        var inodes: [Int: InodeNumber] = [:]
        var numbers: [InodeNumber: Int] = [:]
        return expected.nodes.keys.allSatisfy { found[$0] != nil }
            && found.allSatisfy { path, seen in
                // Paths that are newer than the index may exist too.
                if expected.nodes[path] == nil { return true }
                guard case .file(let number)? = expected.nodes[path] else {
                    return expected.nodes[path] == .directory && seen.size == nil
                }
                if inodes[number, default: seen.inode] != seen.inode { return false }
                if numbers[seen.inode, default: number] != number { return false }
                inodes[number] = seen.inode
                numbers[seen.inode] = number
                let bytes = expected.bytes[number]
                return bytes?.utf8.count == seen.size && (seen.text == nil || seen.text == bytes)
            }
    }

    /// Chooses a change, applies it to the model, and returns a closure that applies it to the replica.
    private mutating func plan() throws -> (() throws -> Void)? {
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1: try planCreate()
        case 2: planDirectory()
        case 3: try planWrite()
        case 4: planUnlink()
        case 5: planRemoveDirectory()
        case 6, 7: planRename()
        case 8: planExchange()
        case 9: planLink()
        case 10: planEvict()
        default: planDownload()
        }
    }

    private mutating func planCreate() throws -> (() throws -> Void)? {
        let path = newPath()
        guard tree.nodes[path] == nil else { return nil }
        fileCount += 1
        tree.nodes[path] = .file(fileCount)
        tree.bytes[fileCount] = ""
        return { [self] in
            let (parent, name) = try split(path)
            _ = try lab.replica.createFile(NewItem(.file, mode: 0o644), as: name, in: parent)
        }
    }

    private mutating func planDirectory() -> (() throws -> Void)? {
        let path = newPath()
        guard tree.nodes[path] == nil, path.count < 20 else { return nil }
        tree.nodes[path] = .directory
        return { [self] in
            let (parent, name) = try split(path)
            _ = try lab.replica.change { try $0.make(NewItem(.directory, mode: 0o755), as: name, in: parent) }
            if parent == .root { try lab.replica.writePlaceholders(in: parent) }
        }
    }

    private mutating func planWrite() throws -> (() throws -> Void)? {
        guard let path = files.randomElement(using: &random), case .file(let number)? = tree.nodes[path] else {
            return nil
        }
        let inode = try lab.inode(path)
        guard try lab.replica.read({ try $0.isLocal(inode) }) else {
            tree.bytes[number] = ""
            return { [self] in _ = try lab.replica.change { try $0.replaceWithEmpty(inode) } }
        }
        let text = "\(number)-\(Int.random(in: 0..<1_000_000_000, using: &random))"
        tree.bytes[number] = text
        return { [self] in
            let descriptor = try lab.replica.openBytes(of: inode)
            try lab.replica.change { try $0.markModified(inode) }
            ftruncate(descriptor.rawValue, 0)
            _ = pwrite(descriptor.rawValue, text, text.utf8.count, 0)
            try lab.replica.change { try $0.recordBytes(of: inode, from: descriptor) }
        }
    }

    private mutating func planUnlink() -> (() throws -> Void)? {
        guard let path = files.randomElement(using: &random) else { return nil }
        tree.nodes[path] = nil
        return { [self] in
            let (parent, name) = try split(path)
            try lab.forget(try lab.removeFile(name, in: parent).inode)
        }
    }

    private mutating func planRemoveDirectory() -> (() throws -> Void)? {
        let empty = directories.filter { !$0.isEmpty && tree.inside($0).isEmpty }
        guard let path = empty.randomElement(using: &random) else { return nil }
        tree.nodes[path] = nil
        return { [self] in
            let (parent, name) = try split(path)
            _ = try lab.removeDirectory(name, in: parent)
        }
    }

    private mutating func planRename() -> (() throws -> Void)? {
        guard let old = paths.randomElement(using: &random) else { return nil }
        let new = newPath()
        guard new != old, !new.hasPrefix(old + "/"), tree.nodes[new] == nil || canReplace(new, with: old) else {
            return nil
        }
        let isSame = tree.nodes[new] == tree.nodes[old] && tree.nodes[old] != .directory
        if !isSame { tree.move(old, to: new) }
        return { [self] in
            let (parent, name) = try split(old)
            let (newParent, newName) = try split(new)
            let renamed = try lab.replica.change {
                try $0.rename(name, in: parent, to: newName, in: newParent, mode: .replace)
            }
            if let replaced = renamed.replaced { try lab.forget(replaced.inode) }
        }
    }

    private func canReplace(_ new: String, with old: String) -> Bool {
        let isDirectory = tree.nodes[old] == .directory
        guard (tree.nodes[new] == .directory) == isDirectory else { return false }
        return !isDirectory || tree.inside(new).isEmpty
    }

    private mutating func planExchange() -> (() throws -> Void)? {
        guard let one = paths.randomElement(using: &random), let other = paths.randomElement(using: &random),
            one != other, !one.hasPrefix(other + "/"), !other.hasPrefix(one + "/")
        else { return nil }
        tree.exchange(one, other)
        return { [self] in
            let (parent, name) = try split(one)
            let (newParent, newName) = try split(other)
            _ = try lab.replica.change { try $0.rename(name, in: parent, to: newName, in: newParent, mode: .exchange) }
        }
    }

    private mutating func planLink() -> (() throws -> Void)? {
        let new = newPath()
        guard let old = files.randomElement(using: &random), tree.nodes[new] == nil else { return nil }
        tree.nodes[new] = tree.nodes[old]
        return { [self] in
            let (parent, name) = try split(new)
            _ = try lab.replica.change { try $0.link($0.rows.resolve(old), in: parent, as: name) }
        }
    }

    private mutating func planEvict() -> (() throws -> Void)? {
        guard let path = files.randomElement(using: &random) else { return nil }
        return { [self] in
            try lab.uploadAll()
            let inode = try lab.inode(path)
            do {
                try lab.evict(inode, generation: try lab.replica.read { try $0.inode(inode).generation })
            } catch let error as FileError where error.code == .busy {
                // A file with a local-only name keeps its bytes.
            }
        }
    }

    private mutating func planDownload() -> (() throws -> Void)? {
        guard let path = files.randomElement(using: &random), case .file(let number)? = tree.nodes[path] else {
            return nil
        }
        let text = tree.bytes[number] ?? ""
        return { [self] in
            let inode = try lab.inode(path)
            if try lab.replica.read({ try $0.isLocal(inode) }) { return }
            let staging = try lab.replica.change { try $0.downloads.begin(of: inode) }
            _ = pwrite(staging.descriptor.rawValue, text, text.utf8.count, 0)
            _ = try lab.replica.change { try $0.downloads.finish(of: inode) }
        }
    }

    /// What is visible of an inode: a file's size, and its bytes if they are local; neither for a directory.
    private struct Seen {
        var inode: InodeNumber
        var size: Int?
        var text: String?
    }

    private func look() throws -> [String: Seen] {
        var found: [String: Seen] = [:]
        var waiting: [(String, InodeNumber)] = [("", .root)]
        while let (path, directory) = waiting.popLast() {
            for child in try lab.replica.read({ try $0.children(of: directory, after: nil, limit: 1000) }) {
                let inner = path.isEmpty ? child.name.string : "\(path)/\(child.name)"
                let inode = child.attributes.inode
                if child.attributes.kind == .directory {
                    found[inner] = Seen(inode: inode)
                    waiting.append((inner, inode))
                } else {
                    let text = try lab.replica.read { try $0.isLocal(inode) } ? try lab.bytes(of: inode) : nil
                    found[inner] = Seen(inode: inode, size: Int(child.attributes.size), text: text)
                }
            }
        }
        return found
    }
}

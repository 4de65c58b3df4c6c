import Control
import ControlAPI
import Glibc
import Model
import Remote
import Replica
import TestStores
import Testing

@testable import FileSystem
@testable import Sync

/// The rules of directories: set by attributes and by the options of the mount, inherited, and local to a device.
@Suite(.virtualTime) struct DirectoryRuleTests {
    private static let day = Duration.seconds(86_400)

    private func device(
        _ name: String = "A", on store: MemoryStore = MemoryStore(), state: String? = nil,
        limits: CacheLimits = CacheLimits(),
        small: Int64? = nil, rules: [PathRules] = [], time: TestTime = TestTime()
    ) async throws -> TestDevice {
        var options = FileSystemOptions()
        options.cacheLimits = limits
        options.smallFileLimit = small
        options.directoryRules = rules
        return try await TestDevice.start(on: store, name: name, state: state, options: options, time: time)
    }

    private func local(_ device: TestDevice, _ paths: String...) throws -> [String] {
        try paths.filter { try ReasonsRequest(path: $0).perform(in: device.control).isLocal }
    }

    private func rules(_ device: TestDevice, _ path: String) throws -> [AppliedRule] {
        try #require(try ReasonsRequest(path: path).perform(in: device.control).rules)
    }

    /// Lets the clock of the wall jump, and the evictor look.
    private func jump(_ time: TestTime, _ duration: Duration) async throws {
        try await pass(.seconds(1))
        time.jumpWall(by: duration)
        time.jump(by: .seconds(3700))
        try await pass(.seconds(65))
    }

    private func write(_ device: TestDevice, _ paths: String...) async throws {
        for path in paths {
            let names = ItemPath(path).components
            for depth in 1..<names.count where (try? device.inode(ItemPath(names.prefix(depth)).string)) == nil {
                try device.makeDirectory(ItemPath(names.prefix(depth)).string)
            }
            try await device.write(String(repeating: "x", count: 5000), to: path)
        }
        try await device.control.sync.sync(wait: true)
    }

    @Test func `a directory's rule evicts what is in it, the nearest decides, and off ends what is above`() async throws
    {
        let time = TestTime()
        let device = try await device(time: time)
        try await write(device, "raw/a", "other")
        try await write(device, "raw/kept/b", "raw/slow/c")
        try await device.setAttribute("evictAfter", "7d", of: "raw")
        try await device.setAttribute("evictAfter", "off", of: "raw/kept")
        try await device.setAttribute("evictAfter", "20d", of: "raw/slow")
        try await jump(time, Self.day * 6)
        #expect(try local(device, "raw/a", "raw/kept/b", "raw/slow/c", "other").count == 4)
        try await jump(time, Self.day * 2)
        #expect(
            try local(device, "raw/a", "raw/kept/b", "raw/slow/c", "other") == ["raw/kept/b", "raw/slow/c", "other"])
        try await jump(time, Self.day * 13)
        #expect(try local(device, "raw/kept/b", "raw/slow/c", "other") == ["raw/kept/b", "other"])
        // Without the rule of its own, it has that of the directory above.
        try await device.removeAttribute("evictAfter", of: "raw/kept")
        #expect(try device.attribute("evictAfter", of: "raw/kept") == "7d")
        try await jump(time, .zero)
        #expect(try local(device, "raw/kept/b", "other") == ["other"])
        try await device.close()
    }

    @Test func `a file with several names follows the one that keeps it longest`() async throws {
        let time = TestTime()
        let device = try await device(time: time)
        try await write(device, "short/both", "short/out", "short/alone")
        try device.makeDirectory("long")
        try device.link("short/both", to: "long/both")
        try device.link("short/out", to: "out")
        try await device.control.sync.sync(wait: true)
        try await device.setAttribute("evictAfter", "1d", of: "short")
        try await device.setAttribute("evictAfter", "10d", of: "long")
        try await jump(time, Self.day * 2)
        #expect(try local(device, "short/both", "short/out", "short/alone") == ["short/both", "short/out"])
        try await jump(time, Self.day * 9)
        #expect(try local(device, "short/both", "short/out") == ["short/out"])
        #expect(try rules(device, "short/out") == [])
        try await device.close()
    }

    @Test func `the rule of a directory counts from when it is set, where nobody noted the uses before`() async throws {
        let time = TestTime()
        let device = try await device(time: time)
        try await write(device, "d/daily")
        for _ in 0..<4 {
            time.jumpWall(by: Self.day * 10)
            _ = try await device.read("d/daily")
        }
        try await device.setAttribute("evictAfter", "30d", of: "d")
        try await jump(time, Self.day * 29)
        #expect(try local(device, "d/daily") == ["d/daily"])
        // While no directory has the rule, nobody notes them again.
        try await device.removeAttribute("evictAfter", of: "d")
        try await jump(time, Self.day * 20)
        try await device.setAttribute("evictAfter", "30d", of: "d")
        try await jump(time, Self.day * 29)
        #expect(try local(device, "d/daily") == ["d/daily"])
        try await jump(time, Self.day * 2)
        #expect(try local(device, "d/daily") == [])
        try await device.close()
    }

    @Test func `rules go where their directory goes, survive a restart, and end with the directory`() async throws {
        let store = MemoryStore()
        let first = try await device(on: store)
        try await write(first, "old/a", "above/b")
        try await first.setAttribute("keepRecent", "2h", of: "old")
        try await first.setAttribute("downloadSmall", "500K", of: "old")
        try first.rename("old", to: "above/new")
        #expect(
            try rules(first, "above/new/a") == [
                AppliedRule(rule: .keepRecent, value: "2h", source: "attribute", directory: "above/new"),
                AppliedRule(rule: .downloadSmall, value: "500K", source: "attribute", directory: "above/new"),
            ])
        #expect(try rules(first, "above/b") == [])
        try await first.close()
        let second = try await device(on: store, state: first.state)
        #expect(try second.attribute("keepRecent", of: "above/new/a") == "2h")
        try second.remove("above/new/a")
        try second.removeDirectory("above/new")
        try second.makeDirectory("above/new")
        #expect(try second.attribute("keepRecent", of: "above/new") == "off")
        try await second.close()
        // What was removed while it was in use is gone at the latest with the next mount.
        let third = try await device(on: store, state: first.state)
        #expect(try third.fileSystem.replica.read { try !$0.hasRules() })
        try await third.close()
    }

    @Test func `rules are the device's own, and are on no list of attributes`() async throws {
        let store = MemoryStore()
        let a = try await device("A", on: store)
        try await write(a, "d/f")
        try await a.setAttribute("evictAfter", "90s", of: "d")
        #expect(try ExtendedAttributes(a.fileSystem).names(of: try a.inode("d")) == [])
        let b = try await device("B", on: store)
        try await converge(a, b)
        #expect(try a.attribute("evictAfter", of: "d/f") == "90s")
        #expect(try b.attribute("evictAfter", of: "d/f") == "off")
        #expect(try rules(b, "d/f") == [])
        try await a.close()
        try await b.close()
    }

    @Test func `a value that is none is refused with what is accepted, and a file has no rule of its own`() async throws
    {
        let device = try await device()
        try await write(device, "d/f")
        let accepted = "off, or a whole number with s, m, h or d, 60s to 3650d, as in 30d"
        for text in ["", "30", "59s", "3651d", "1.5d", "OFF", "-1d", "99999999999999999999d", "30d\u{301}"] {
            await #expect(throws: FileError(.invalid, "evict_after is \(accepted), not \(text)")) {
                try await device.setAttribute("evictAfter", text, of: "d")
            }
        }
        await #expect(
            throws: FileError(
                .invalid, "download_small is off, or a whole number with K, M, G or T, 1K or more, as in 500K, not 1023"
            )
        ) { try await device.setAttribute("downloadSmall", "1023", of: "d") }
        await #expect(throws: FileError(.unsupported, "keep_recent is a rule for directories")) {
            try await device.setAttribute("keepRecent", "7d", of: "d/f")
        }
        #expect(throws: FileError(.notPermitted, "only the owner may do this")) {
            _ = try ExtendedAttributes(device.fileSystem).set(
                "user.dewpoint.evictAfter", value: Array("7d".utf8), mode: .any, of: try device.inode("d"),
                by: Caller(thread: 0, user: 12345, group: 12345))
        }
        #expect(try device.attribute("evictAfter", of: "d") == "off")
        try await device.close()
    }

    @Test func `the attribute wins over the mount's rule for the path, which wins over the mount's option`()
        async throws
    {
        let device = try await device(
            limits: CacheLimits(evictAfter: Self.day * 30), small: 4096,
            rules: [
                try PathRules(path: "d", limits: [.evictAfter: .init(Self.day), .downloadSmall: .off]),
                try PathRules(path: "missing", limits: [.evictAfter: .init(.seconds(60))]),
            ])
        try await write(device, "d/f")
        try device.makeDirectory("d/e")
        try await device.setAttribute("evictAfter", "2d", of: "d")
        #expect(
            try rules(device, "d/e") == [
                AppliedRule(rule: .evictAfter, value: "2d", source: "attribute", directory: "d"),
                AppliedRule(rule: .downloadSmall, value: "off", source: "path", directory: "d"),
            ])
        try await device.removeAttribute("evictAfter", of: "d")
        #expect(
            try rules(device, "d/f")[0] == AppliedRule(rule: .evictAfter, value: "1d", source: "path", directory: "d"))
        #expect(
            try rules(device, "") == [
                AppliedRule(rule: .evictAfter, value: "30d", source: "mount", directory: ""),
                AppliedRule(rule: .downloadSmall, value: "4K", source: "mount", directory: ""),
            ])
        // A rule for a path is for whatever is there.
        try device.rename("d", to: "moved")
        #expect(try device.attribute("evictAfter", of: "moved/f") == "30d")
        try device.makeDirectory("missing")
        #expect(try device.attribute("evictAfter", of: "missing") == "1m")
        // The root is a directory like others.
        try await device.setAttribute("evictAfter", "off", of: "")
        #expect(try device.attribute("evictAfter", of: "moved") == "off")
        try await device.close()
    }

    @Test func `limits of the cache leave what its directory keeps, and take what its directory does not`() async throws
    {
        let time = TestTime()
        let store = MemoryStore()
        let device = try await device(
            on: store, limits: CacheLimits(byteLimit: 1, keepRecent: Self.day * 7),
            rules: [try PathRules(path: "passing", limits: [.keepRecent: .off])], time: time)
        try await write(device, "passing/a", "usual", "long/b")
        try await device.setAttribute("keepRecent", "30d", of: "long")
        try await jump(time, .zero)
        #expect(try local(device, "passing/a", "usual", "long/b") == ["usual", "long/b"])
        try await jump(time, Self.day * 8)
        #expect(try local(device, "passing/a", "usual", "long/b") == ["long/b"])
        #expect(try device.fileSystem.cacheStatus().lastRound?.blockedBy == ["recent": 1])
        try await jump(time, Self.day * 25)
        #expect(try local(device, "long/b") == [])
        try await device.close()
    }

    @Test func `small files come where the rule says, those that are there too, and again only when they are changed`()
        async throws
    {
        let store = MemoryStore()
        let a = try await device("A", on: store)
        try await write(a, "in/small", "out")
        try await write(a, "in/deep/small", "in/not/small")
        try await a.write(String(repeating: "l", count: 9000), to: "in/large")
        let b = try await device("B", on: store)
        try await converge(a, b)
        try await b.setAttribute("downloadSmall", "off", of: "in/not")
        try await b.setAttribute("downloadSmall", "8K", of: "in")
        #expect(try await holds(within: .seconds(60)) { try local(b, "in/small", "in/deep/small").count == 2 })
        try await pass(.seconds(60))
        #expect(try local(b, "in/large", "in/not/small", "out") == [])
        let why = try ReasonsRequest(path: "in/small").perform(in: b.control)
        #expect(why.localBecause == ["downloaded: small enough to come by itself (download_small)"])
        #expect(
            why.rules == [AppliedRule(rule: .downloadSmall, value: "8K", source: "attribute", directory: "in")])
        try await write(a, "in/deep/new", "out2")
        try await converge(a, b)
        #expect(try await holds(within: .seconds(60)) { try local(b, "in/deep/new").count == 1 })
        try await b.setAttribute("evict", "1", of: "in/small")
        try await b.setAttribute("downloadSmall", "9K", of: "in")
        #expect(try await holds(within: .seconds(60)) { try local(b, "in/large").count == 1 })
        try await b.removeAttribute("downloadSmall", of: "in/not")
        #expect(try await holds(within: .seconds(60)) { try local(b, "in/not/small").count == 1 })
        try await pass(.seconds(60))
        #expect(try local(b, "in/small", "out", "out2") == [])
        try await a.close()
        try await b.close()
    }

    @Test func `a new rule of the mount for a path lists what is there, once`() async throws {
        let store = MemoryStore()
        let a = try await device("A", on: store)
        try await write(a, "in/small", "out")
        let first = try await device("B", on: store)
        try await converge(a, first)
        try await first.close()
        let rules = [try PathRules(path: "in", limits: [.downloadSmall: .init(number: 8192)])]
        let second = try await device("B", on: store, state: first.state, rules: rules)
        #expect(try await holds(within: .seconds(60)) { try local(second, "in/small").count == 1 })
        try await second.setAttribute("evict", "1", of: "in/small")
        try await second.close()
        let third = try await device("B", on: store, state: first.state, rules: rules)
        try await pass(.seconds(60))
        #expect(try local(third, "in/small", "out") == [])
        try await third.close()
        let fourth = try await device("B", on: store, state: first.state)
        #expect(try await holds { try fourth.fileSystem.replica.read { try $0.smallFileReach() } == nil })
        try await fourth.close()
        try await a.close()
    }

    @Test func `a rule for a directory of thousands looks at a bounded number at a time, and reaches all`() async throws
    {
        let store = MemoryStore()
        let device = try await device(on: store)
        try device.makeDirectory("many")
        for number in 0..<2500 { try await device.write("", to: "many/\(number)") }
        let many = try device.inode("many")
        var pieces = 0
        try device.fileSystem.replica.change { change in
            try change.walkSmallFiles(below: many, above: 0)
            while try change.walkSmallFiles(limit: { _ in 1 << 20 }, isApart: { _ in false }) { pieces += 1 }
        }
        #expect(pieces == 3)
        // One that was removed meanwhile ends no walk.
        try await device.setAttribute("keepRecent", "7d", of: "many")
        try device.makeDirectory("gone")
        let gone = try device.inode("gone")
        try device.fileSystem.replica.change { try $0.walkSmallFiles(below: gone, above: 0) }
        try device.removeDirectory("gone")
        try device.fileSystem.replica.change { change in
            var lookup = try device.fileSystem.cache.rules.lookup(change.rows)
            _ = try change.walkSmallFiles(limit: { try lookup.smallFileLimit(in: $0) }, isApart: { _ in false })
        }
        #expect(try device.fileSystem.replica.read { try !$0.hasSmallFileWalk() })
        try await device.close()
    }
}

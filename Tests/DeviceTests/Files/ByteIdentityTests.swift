import Control
import FileSystem
import Foundation
import Glibc
import Model
import Remote
import Sync
import Synchronization
import TestStores
import Testing

@testable import Transfer

/// Names, targets and attributes that Swift's `String` takes for one, or does not split where the bytes have a slash.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct ByteIdentityTests {
    static let composed = "caf\u{e9}"
    static let decomposed = "cafe\u{301}"

    /// Names that begin with a combining mark, a joiner, a variation selector, a Thai sign, or U+FEFF.
    static let beginnings = ["\u{301}x", "\u{200d}x", "\u{fe0f}x", "\u{e31}x", "\u{feff}x", "\u{1f3fd}x"]

    private func makeLink(_ name: String, to target: String, on device: TestDevice) throws {
        _ = try device.fileSystem.make(
            .symbolicLink(to: target), as: try ItemName(name), in: .root, by: TestDevice.caller)
    }

    /// Gives a link another target as programs do: by a new link that is renamed over it.
    private func retarget(_ name: String, to target: String, on device: TestDevice) throws {
        try makeLink("\(name).new", to: target, on: device)
        try device.rename("\(name).new", to: name)
    }

    /// The targets of all links in the root, by the bytes of their names.
    private func targets(_ device: TestDevice) throws -> [ItemName: LinkTarget] {
        var targets: [ItemName: LinkTarget] = [:]
        for child in try device.fileSystem.names(of: .root) where child.kind == .symbolicLink {
            let inode = try device.fileSystem.lookup(child.name, in: .root).inode
            targets[child.name] = LinkTarget(try device.fileSystem.readLink(inode))
        }
        return targets
    }

    private func attributes(_ device: TestDevice, of path: String) throws -> [AttributeName: String] {
        var attributes: [AttributeName: String] = [:]
        for name in try device.attributes.names(of: try device.inode(path)) {
            attributes[AttributeName(name)] = try device.ordinaryAttribute(name, of: path)
        }
        return attributes
    }

    // MARK: Attributes

    private static let names = (
        one: AttributeName("user.k\(composed)"), other: AttributeName("user.k\(decomposed)"),
        mark: AttributeName("user.\u{301}")
    )

    @Test func `attributes whose names differ in composition only are two, here and on other devices`() async throws {
        let store = MemoryStore()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try await a.write("x", to: "f")
        try await a.setOrdinaryAttribute(Self.names.one.string, "1", of: "f")
        try await a.setOrdinaryAttribute(Self.names.other.string, "2", of: "f")
        try await a.setOrdinaryAttribute(Self.names.mark.string, "3", of: "f")
        try await converge(a, b)
        let expected = [Self.names.one: "1", Self.names.other: "2", Self.names.mark: "3"]
        for device in [a, b] { #expect(try attributes(device, of: "f") == expected) }
        // Each device changes one of them.
        try await a.setOrdinaryAttribute(Self.names.one.string, "11", of: "f")
        try await b.setOrdinaryAttribute(Self.names.other.string, "22", of: "f")
        try await converge(a, b)
        let changed = [Self.names.one: "11", Self.names.other: "22", Self.names.mark: "3"]
        let fresh = try await TestDevice.start(on: store, name: "C")
        try await fresh.control.sync.sync(wait: true)
        for device in [a, b, fresh] {
            #expect(try attributes(device, of: "f") == changed)
            #expect(try await device.fileSystem.syncEngine.check() == [])
            try await device.close()
        }
    }

    @Test func `an import keeps attributes and targets that differ in composition only`() async throws {
        let bench = try TransferBench()
        let store = MemoryStore()
        try await Container.create(in: store, identity: TestDevice.identity)
        try await bench.script(
            #"""
            mkdir -p in/d; cd in; echo x > f; mkdir "$(printf 'caf\xc3\xa9')" "$(printf 'cafe\xcc\x81')"
            for name in f d; do
                setfattr -n "$(printf 'user.k\xc3\xa9')" -v 1 $name; setfattr -n "$(printf 'user.ke\xcc\x81')" -v 2 $name
            done
            ln -s "$(printf 'caf\xc3\xa9')" one; ln -s "$(printf 'cafe\xcc\x81')" two
            for mark in '\xcc\x81' '\xe2\x80\x8d' '\xef\xb8\x8f' '\xe0\xb8\xb1' '\xef\xbb\xbf'; do
                mkdir "$(printf "${mark}d")"; echo x > "$(printf "${mark}d/${mark}f")"
            done
            """#)
        let report = try await bench.importTree(to: store)
        #expect(report.failedCount == 0 && report.skippedCount == 0)
        _ = try await bench.export(store)
        #expect(try await bench.listing("out") == (try await bench.listing("in")))
        try await bench.script(#"cd in; ln -sfn "$(printf 'cafe\xcc\x81')" one"#)
        let error = await #expect(throws: FileError.self) { try await bench.importTree(to: store, isContinued: true) }
        #expect(error?.detail == "the container has something else there already: one; nothing was sent")
    }

    // MARK: Links

    @Test func `two new links whose targets differ in composition only are not one`() async throws {
        let store = MemoryStore()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try makeLink("l", to: Self.composed, on: a)
        try makeLink("l", to: Self.decomposed, on: b)
        try await converge(a, b)
        let found = try targets(a)
        #expect(Set(found.values) == [LinkTarget(Self.composed), LinkTarget(Self.decomposed)])
        #expect(try targets(b) == found)
        for device in [a, b] {
            #expect(try await device.fileSystem.syncEngine.check() == [])
            try await device.close()
        }
    }

    @Test func `a link retargeted on two devices keeps both targets, and one that was deleted keeps the edit`()
        async throws
    {
        var pair = try await ConflictPair { a in
            for name in ["l", "gone"] { try makeLink(name, to: Self.composed, on: a) }
            try makeLink("m", to: "elsewhere", on: a)
        }
        try await pair.meet { a in
            try retarget("l", to: "theirs", on: a)
            try retarget("m", to: Self.composed, on: a)
            try a.remove("gone")
        } _: { b in
            try retarget("l", to: Self.decomposed, on: b)
            try retarget("m", to: Self.decomposed, on: b)
            try retarget("gone", to: Self.decomposed, on: b)
        }
        let found = try targets(pair.a)
        #expect(try targets(pair.b) == found)
        #expect(found[try ItemName("l")] == "theirs")
        #expect(found[try ItemName("m")] == LinkTarget(Self.composed))
        #expect(found[try ItemName("gone")] == LinkTarget(Self.decomposed))
        #expect(found.values.filter { $0 == LinkTarget(Self.decomposed) }.count == 3)
        for device in [pair.a, pair.b] { #expect(try await device.fileSystem.syncEngine.check() == []) }
        try await pair.close()
    }

    // MARK: Paths

    private final class Granted: Sendable {
        private let claims = Mutex<[UInt64: [String]]>([:])

        func receive(_ event: SessionEvent) {
            if case .granted(let claim, _, let paths) = event { claims.withLock { $0[claim] = paths } }
        }

        func paths(_ claim: UInt64) -> [String]? { claims.withLock { $0[claim] } }
    }

    @Test(arguments: beginnings)
    func `requests find items whose names begin with what belongs to the slash before it`(name: String) async throws {
        let device = try await TestDevice.start(on: MemoryStore(), name: "desk")
        let directory = "d\(name)"
        try device.makeDirectory("plain")
        try device.makeDirectory("plain/\(name)")
        try device.makeDirectory(directory)
        let path = "plain/\(name)/\(name)"
        try await device.write("odd", to: path)
        try await device.write("plain", to: "plain/x")
        let status = try device.control.states.itemStatus(path)
        #expect(status.path.utf8.elementsEqual(path.utf8) && status.logicalSize == 3)
        let granted = Granted()
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        // The session closes the other end.
        defer { Glibc.close(ends[1]) }
        let session = try device.fileSystem.claims.open(process: getpid(), descriptor: ends[0]) {
            granted.receive($0)
        } whenGone: {
        }
        try device.fileSystem.claims.request(
            ClaimRequest(claim: 1, items: [.init(path, writing: "plain")]), from: session)
        #expect(try await holds { granted.paths(1) != nil })
        #expect(granted.paths(1).map { $0.map { Array($0.utf8) } } == [Array(path.utf8)])
        // Through a link whose target has the same slashes.
        _ = try device.fileSystem.make(
            .symbolicLink(to: "\(name)/\(name)"), as: try ItemName("way"), in: try device.inode("plain"),
            by: TestDevice.caller)
        let item = ClaimRequest.Item("plain/way", reading: ["resolvesSymbolicLink"])
        try device.fileSystem.claims.release(1, of: session)
        try device.fileSystem.claims.request(ClaimRequest(claim: 2, items: [item]), from: session)
        #expect(try await holds { granted.paths(2) != nil })
        #expect(granted.paths(2).map { $0.map { Array($0.utf8) } } == [Array(path.utf8)])
        device.fileSystem.claims.close(session)
        try await device.close()
    }
}

import Control
import Foundation
import Glibc
import Model
import Remote
import TestStores
import Testing
import VirtualTime

@testable import FileSystem
@testable import Replica
@testable import Sync

/// Files of many packs, several of which are sent at a time.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct SeveralPacksTests {
    private let base = MemoryStore()
    private let time = TestTime()
    private let mebibyte = 1 << 20

    private func device(on store: any ObjectStore, state: String? = nil) async throws -> TestDevice {
        var environment = time.environment
        environment.packLimits = .init(packByteCount: mebibyte)
        return try await TestDevice.start(on: store, name: "A", state: state, environment: environment, time: time)
    }

    /// A text of which each mebibyte is different.
    private func text(_ mebibyteCount: Int) -> String {
        (0..<mebibyteCount).map { String(format: "%08d", $0) }.map { String(repeating: $0, count: mebibyte / 8) }
            .joined()
    }

    @Test func `the packs of a file are sent at the same time, and the file reads the same elsewhere`() async throws {
        let store = FaultyStore(base, decide: { $0 == .put && $1.hasPrefix("packs/") ? .delay(.seconds(10)) : nil })
        let a = try await device(on: store)
        try await a.write(text(12), to: "f")
        let begin = time.environment.uptime()
        try await a.control.sync.sync(wait: true)
        // One after another they would take 120 s, two at a time 60 s; there are more as that is faster.
        #expect(time.environment.uptime() - begin < .seconds(55))
        #expect(store.callCount(.put, prefix: "packs/") == 12)
        let b = try await TestDevice.start(on: base, name: "B", time: time)
        try await b.control.sync.sync(wait: true)
        let handle = try await b.open("f", O_RDONLY)
        for index in 0..<12 {
            let bytes = try await b.bytes(handle, at: Int64(index * mebibyte), byteCount: mebibyte)
            #expect(bytes == Array(String(repeating: String(format: "%08d", index), count: mebibyte / 8).utf8))
        }
        try await b.close(handle)
        try await a.close()
        try await b.close()
    }

    @Test func `only what is in the store counts as uploaded`() async throws {
        let store = FaultyStore(base, decide: { $0 == .put && $1.hasPrefix("packs/") ? .delay(.seconds(10)) : nil })
        let a = try await device(on: store)
        try await a.write(text(4), to: "f")
        let number = try a.inode("f")
        var seen: [Double] = []
        while true {
            try await VirtualTimeExecutor.sleep(.seconds(1))
            guard let percent = a.fileSystem.syncEngine.uploader.percent(of: number) else {
                if seen.isEmpty { continue }
                break
            }
            seen.append(percent)
        }
        #expect(Set(seen).isSubset(of: [0, 25, 50, 75, 100]))
        #expect(seen.first == 0 && seen.contains(50))
        #expect(seen == seen.sorted())
        try await a.close()
    }

    @Test func `what was in the store when a pack failed, or the process ended, is not sent again`() async throws {
        let store = FaultyStore(base)
        var device = try await device(on: store)
        // The second pack fails for good; the first and the third arrive.
        store.plan(.delay(.seconds(1)), on: .put, prefix: "packs/")
        store.plan(.failBefore(.unavailable), on: .put, prefix: "packs/")
        try await device.write(text(8), to: "f")
        try await VirtualTimeExecutor.sleep(.milliseconds(1500))
        let state = device.state
        try await device.close()
        device = try await self.device(on: store, state: state)
        try await device.control.sync.sync(wait: true)
        #expect(store.callCount(.put, prefix: "packs/") == 9)
        #expect(try await base.list(prefix: "packs/", after: nil, limit: 99).count == 8)
        try await device.close()
    }
}

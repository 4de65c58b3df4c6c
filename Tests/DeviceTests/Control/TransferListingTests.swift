import ControlAPI
import Foundation
import Model
import Remote
import TestStores
import Testing

@testable import Control
@testable import FileSystem
@testable import Sync

/// Totals and transfers, as `dewpoint status` and the dashboard show them.
@Suite(.virtualTime) struct TransferListingTests {
    @Test func `what waits for a store that is gone is listed with the reason, and counted`() async throws {
        let network = Network()
        let a = try await TestDevice.start(on: network.store(), name: "A")
        try a.makeDirectory("d")
        try await a.write("hello", to: "d/a")
        try await converge(a)
        #expect(try await TotalsRequest(path: "").perform(in: a.control).isUploaded)
        #expect(try a.containerStatus().lastCommit != nil)
        #expect(try a.containerStatus().store == .reachable)
        network.goAway()
        try await a.write("hello world", to: "d/b")
        try a.remove("d/a")
        #expect(
            try await holds { try TransfersRequest().perform(in: a.control).waiting.allSatisfy { $0.reason != nil } })
        let listing = try TransfersRequest().perform(in: a.control)
        #expect(listing.waiting.map(\.path) == ["d/b", "d/a", "d"], "the directory has a new time")
        #expect(listing.waiting.allSatisfy { $0.direction == .up })
        #expect(listing.waiting.map(\.isDeletion) == [false, true, false])
        #expect(listing.waiting.map(\.byteCount) == [11, 0, 0])
        #expect(listing.uploads.pendingCount == 3 && listing.uploads.pendingByteCount == 11)
        let totals = try await TotalsRequest(path: "d").perform(in: a.control)
        #expect(totals.itemCount == 2 && totals.uploads.pendingCount == 3 && !totals.isPartial)
        #expect(try a.containerStatus().store != .reachable)
        network.comeBack()
        try await converge(a)
        #expect(try TransfersRequest().perform(in: a.control).waiting == [])
        try await a.close()
    }

    @Test func `a paused item waits for a reason of its own`() async throws {
        let a = try await TestDevice.start(on: MemoryStore(), name: "A")
        try a.makeDirectory("d")
        try await converge(a)
        try PauseRequest(path: "d", paused: true).perform(in: a.control)
        try await a.write("hello", to: "d/a")
        let waiting = try TransfersRequest().perform(in: a.control).waiting
        #expect(Set(waiting.map(\.path)) == ["d", "d/a"])
        #expect(waiting.allSatisfy { $0.reason == "its sync is paused" })
        try await a.close()
    }

    @Test func `a download under way has its bytes and its speed, and its directory counts it`() async throws {
        let network = Network()
        let store = network.store()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try a.makeDirectory("d")
        try await a.write(String(repeating: "0123456789abcdef", count: 1 << 18), to: "d/f")
        try await converge(a, b)
        network.set { operation, key in key.hasPrefix("packs/") ? .failBefore(.unavailable) : nil }
        try await DownloadRequest(path: "d/f", wait: false).perform(in: b.control)
        #expect(try await holds { try !TransfersRequest().perform(in: b.control).active.isEmpty })
        let listing = try TransfersRequest().perform(in: b.control)
        #expect(listing.active.map(\.path) == ["d/f"] && listing.active.map(\.direction) == [.down])
        #expect(listing.active.map(\.byteCount) == [4 << 20] && listing.active[0].bytesPerSecond != nil)
        #expect(listing.downloads.pendingCount == 1 && listing.downloads.activeCount == 1)
        let totals = try await TotalsRequest(path: "d").perform(in: b.control)
        #expect(totals.downloads.activeCount == 1 && totals.downloads.pendingByteCount == 4 << 20)
        #expect(totals.localByteCount == 0 && totals.byteCount == 4 << 20)
        network.comeBack()
        try await DownloadRequest(path: "d/f", wait: true).perform(in: b.control)
        #expect(try await TotalsRequest(path: "d/f").perform(in: b.control).localFileCount == 1)
        try await a.close()
        try await b.close()
    }

    @Test func `the speed of a transfer is that of its last seconds`() {
        let meter = TransferMeter()
        let key = TransferMeter.Key(direction: .down, inode: InodeNumber(rawValue: 7))
        func speed(_ bytesDone: Int64, at seconds: Double) -> Double? {
            let reading = TransferMeter.Reading(
                byteCount: 10_000, bytesDone: bytesDone, began: .zero, bytesAtBegin: 100)
            return meter.speeds([key: reading], now: .seconds(seconds))[key]
        }
        #expect(speed(1100, at: 10) == 100, "since the start")
        #expect(speed(2100, at: 11) == 2000.0 / 11)
        #expect(speed(2100, at: 16) == 0, "five seconds without a byte")
        #expect(meter.speeds([:], now: .seconds(17)).isEmpty)
        #expect(speed(4100, at: 20) == 200, "forgotten, so since the start again")
    }

    @Test(arguments: [false, true])
    func `the time of the newest commit is that at which another device made it`(bySnapshot: Bool) async throws {
        let (store, time) = (MemoryStore(), TestTime())
        let a = try await TestDevice.start(on: store, name: "A", time: time)
        try await a.write("hello", to: "a")
        try await converge(a)
        if bySnapshot { _ = try await a.fileSystem.syncEngine.snapshots.make() }
        let made = try #require(try a.containerStatus().lastCommit)
        let closed = time.environment.now()
        try await a.close()
        time.jumpWall(by: .seconds(86_400 * 300))
        let b = try await TestDevice.start(on: store, name: "B", time: time)
        try await converge(b)
        let shown = try #require(try b.containerStatus().lastCommit)
        #expect(bySnapshot ? (made...closed.rfc3339).contains(shown) : shown == made)
        try await b.close()
    }
}

import Control
import FileSystem
import Foundation
import Model
import Remote
import Synchronization
import TestStores
import Testing

@testable import Replica
@testable import Sync

/// A container with a quota: what is too large waits on its device, and everything else goes on.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct QuotaTests {
    private let store = FaultyStore(MemoryStore())
    private let time = TestTime()

    private func setQuota(_ byteCount: Int64?) async throws {
        _ = try await Container.setQuota(byteCount.flatMap { ContainerQuota(byteCount: $0) }, in: store)
    }

    /// Devices of a container with a quota of 1000 bytes.
    private func devices(_ names: String...) async throws -> [TestDevice] {
        var identity = TestDevice.identity
        identity.settings.quota = ContainerQuota(byteCount: 1000)
        try await Container.create(in: store, identity: identity)
        var devices: [TestDevice] = []
        for name in names { devices.append(try await TestDevice.start(on: store, name: name, time: time)) }
        return devices
    }

    private func text(_ byteCount: Int) -> String { String(repeating: "x", count: byteCount) }

    private func expectRefusal(
        _ device: TestDevice, used: Int, more: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let refusal = FileError(
            .overQuota,
            "the container's quota has no room for it: \(used) B of 1000 B are used, and it needs \(ByteCount(Int64(more))) more; "
                + "delete something, or raise the quota with: dewpoint container quota memory SIZE")
        await #expect(throws: refusal, sourceLocation: sourceLocation) {
            try await device.control.sync.sync(wait: true)
        }
    }

    private func expectUsed(_ byteCount: Int64, on devices: TestDevice...) throws {
        for device in devices {
            let quota = try #require(try device.containerStatus().quota)
            #expect(quota == QuotaStatus(total: 1000, used: byteCount))
            #expect(try device.attribute("quotaTotal", of: "") == "1000")
            #expect(try device.attribute("quotaUsed", of: "") == "\(byteCount)")
        }
    }

    @Test func `what is over the quota waits with 4354, and deletions, renames, directories and smaller edits go`()
        async throws
    {
        let devices = try await devices("A", "B")
        let (a, b) = (devices[0], devices[1])
        try await a.write(text(600), to: "kept")
        try await a.write(text(300), to: "shrinking")
        try await a.control.sync.sync(wait: true)
        try await a.write(text(101), to: "large")
        try await a.write(text(700), to: "kept")
        try a.rename("kept", to: "moved")
        try a.makeDirectory("d")
        try await a.write("", to: "d/empty")
        try await a.write(text(250), to: "shrinking")
        #expect(try await holds { try a.containerStatus().pendingUploadCount == 1 })
        // The room of the smaller edit was enough for one of the two.
        let (waiting, used) = try a.attribute("isUploaded", of: "large") == "1" ? ("moved", 951) : ("large", 950)
        try await expectRefusal(a, used: used, more: waiting == "large" ? 101 : 100)
        let error = try a.attribute("uploadingError", of: waiting)
        #expect(
            error.hasPrefix("NSCocoaErrorDomain 4354 the container's quota has no room for it: \(used) B of 1000 B"))
        #expect(try a.containerStatus().problem?.contains("has no room for it") == true)
        try await b.control.sync.sync(wait: true)
        #expect(try b.names().contains("moved") && !b.names().contains("kept"))
        #expect(try b.names("d") == ["empty"])
        try expectUsed(Int64(used), on: a, b)
        // A deletion by another device makes room.
        try b.remove("shrinking")
        try await b.control.sync.sync(wait: true)
        try await a.control.sync.sync(wait: true)
        #expect(try a.attribute("isUploaded", of: "large") == "1" && a.attribute("isUploaded", of: "moved") == "1")
        try await converge(a, b)
        try expectUsed(801, on: a, b)
        for device in devices { try await device.close() }
    }

    @Test func `a file of exactly the rest fits, and one byte more does not`() async throws {
        let a = try await devices("A")[0]
        try await a.write(text(400), to: "f")
        try await a.write(text(600), to: "g")
        try await a.control.sync.sync(wait: true)
        try expectUsed(1000, on: a)
        try await a.write("y", to: "h")
        try await expectRefusal(a, used: 1000, more: 1)
        #expect(try await a.read("h") == "y")
        // It goes by itself once there is room.
        try a.remove("f")
        #expect(try await holds { try a.containerStatus().pendingUploadCount == 0 })
        try expectUsed(601, on: a)
        try await a.close()
    }

    @Test func `bytes that are over the quota are not sent`() async throws {
        let a = try await devices("A")[0]
        try await a.write(text(1001), to: "f")
        try await expectRefusal(a, used: 0, more: 1001)
        #expect(store.callCount(.put, prefix: "packs/") == 0)
        try await a.close()
    }

    @Test func `a file that takes the room of a deleted one goes with the same sync`() async throws {
        let a = try await devices("A")[0]
        try await a.write(text(900), to: "old")
        try await a.control.sync.sync(wait: true)
        try await a.setAttribute("syncPaused", "1", of: "")
        try a.remove("old")
        try await a.write(text(800), to: "new")
        try await a.setAttribute("syncPaused", "0", of: "")
        try await a.control.sync.sync(wait: true)
        try expectUsed(800, on: a)
        try await a.close()
    }

    @Test func `what waits goes when the quota is raised, at once with sync`() async throws {
        let a = try await devices("A")[0]
        try await a.write(text(2000), to: "f")
        try await expectRefusal(a, used: 0, more: 2000)
        try await setQuota(3000)
        try await a.control.sync.sync(wait: true)
        #expect(try a.attribute("isUploaded", of: "f") == "1" && a.attribute("quotaTotal", of: "") == "3000")
        let noError = FileError(.noAttribute, "user.dewpoint.uploadingError")
        #expect(throws: noError) { try a.attribute("uploadingError", of: "f") }
        try await a.close()
    }

    @Test func `a quota that is changed or removed is noticed without sync, within the age of a check`() async throws {
        let a = try await devices("A")[0]
        try await a.write(text(2000), to: "f")
        try await expectRefusal(a, used: 0, more: 2000)
        try await setQuota(nil)
        time.jump(by: ContainerGuard.followAge)
        #expect(try await holds { try a.containerStatus().pendingUploadCount == 0 })
        #expect(try a.containerStatus().quota == QuotaStatus(total: nil, used: 2000))
        let noQuota = FileError(.noAttribute, "user.dewpoint.quotaTotal")
        #expect(throws: noQuota) { try a.attribute("quotaTotal", of: "") }
        try await setQuota(1000)
        time.jump(by: ContainerGuard.followAge)
        #expect(try await holds { try a.containerStatus().quota?.total == 1000 })
        // More than the quota is in the container: nothing remains, and an edit may still make it smaller.
        #expect(try a.containerStatus().quota?.remaining == 0)
        try await a.write(text(1999), to: "f")
        try await a.control.sync.sync(wait: true)
        try expectUsed(1999, on: a)
        try await a.close()
    }

    @Test func `a device that starts without its store has the quota that it read last`() async throws {
        let a = try await devices("A")[0]
        try await setQuota(500)
        time.jump(by: ContainerGuard.followAge)
        #expect(try await holds { try a.containerStatus().quota?.total == 500 })
        try await a.close()
        let network = Network()
        network.goAway()
        // The identity that it knows from its first mount has another one.
        let again = try TestDevice.startKnown(on: network.store(store), name: "A", state: a.state, time: time)
        #expect(try again.containerStatus().quota?.total == 500)
        try await again.close()
    }

    @Test func `two devices cannot use the same room`() async throws {
        let devices = try await devices("A", "B")
        let (a, b) = (devices[0], devices[1])
        for device in devices { try await device.setAttribute("syncPaused", "1", of: "") }
        try await a.write(text(600), to: "a")
        try await b.write(text(600), to: "b")
        for device in devices { try await device.setAttribute("syncPaused", "0", of: "") }
        func pending(_ device: TestDevice) throws -> Int { try device.containerStatus().pendingUploadCount }
        #expect(try await holds { try pending(a) + pending(b) == 1 })
        let late = try pending(a) == 1 ? a : b
        try await expectRefusal(late, used: 600, more: 600)
        try expectUsed(600, on: a, b)
        for device in devices { try await device.close() }
    }

    @Test func `room that another device takes while a file is being sent is not used twice`() async throws {
        let b = try await devices("B")[0]
        let isOpen = Atomic(false)
        let slow = FaultyStore(store) { operation, key in
            operation == .put && key.hasPrefix("packs/") ? .delay(.zero) : nil
        } sleep: { _ in
            _ = try await holds { isOpen.load(ordering: .acquiring) }
        }
        let a = try await TestDevice.start(on: slow, name: "A", time: time)
        try await a.write(text(600), to: "a")
        #expect(try await holds { try a.attribute("isUploading", of: "a") == "1" })
        try await b.write(text(600), to: "b")
        try await b.control.sync.sync(wait: true)
        // A applies the other device's commit before its own.
        #expect(try await holds { try a.names() == ["a", "b"] })
        #expect(try a.attribute("isUploading", of: "a") == "1")
        isOpen.store(true, ordering: .releasing)
        try await expectRefusal(a, used: 600, more: 600)
        try expectUsed(600, on: a, b)
        for device in [a, b] { try await device.close() }
    }

    @Test func `conflict versions count until they are resolved`() async throws {
        let devices = try await devices("A", "B")
        let (a, b) = (devices[0], devices[1])
        try await a.write(text(100), to: "f")
        try await converge(a, b)
        #expect(try await b.read("f") == text(100))
        try await b.setAttribute("syncPaused", "1", of: "")
        try await a.write(text(200), to: "f")
        try await a.control.sync.sync(wait: true)
        try await b.write(text(300), to: "f")
        try await b.setAttribute("syncPaused", "0", of: "")
        try await converge(b, a)
        try expectUsed(500, on: a, b)
        try await a.setAttribute("resolve", "current", of: "f")
        try await converge(a, b)
        let used = try #require(try a.containerStatus().quota?.used)
        #expect([200, 300].contains(used), "one of the two is left")
        try expectUsed(used, on: a, b)
        for device in devices { try await device.close() }
    }

    @Test func `the attributes are on the root only, and read-only`() async throws {
        let a = try await devices("A")[0]
        try a.makeDirectory("d")
        for name in ["quotaTotal", "quotaUsed"] {
            let none = FileError(.noAttribute, "user.dewpoint.\(name)")
            #expect(throws: none) { try a.attribute(name, of: "d") }
            let refusal = FileError(.denied, "user.dewpoint.\(name) is read-only")
            await #expect(throws: refusal) { try await a.setAttribute(name, "1", of: "") }
        }
        try await a.close()
    }

    @Test func `the space of the mount is that of the quota, and what is available is on the disk too`() async throws {
        try await setUpWithoutQuota()
        let a = try await TestDevice.start(on: store, name: "A", time: time)
        let disk = try a.fileSystem.statistics()
        let block = Int64(disk.fragmentSize)
        try await a.write(text(2 * Int(block)), to: "f")
        try await a.control.sync.sync(wait: true)
        func expect(quota: Int64, blocks: UInt, free: UInt, available: UInt? = nil) throws {
            _ = try a.fileSystem.replica.setQuota(ContainerQuota(byteCount: quota))
            let found = try a.fileSystem.statistics()
            #expect(found.blocks == blocks && found.freeBlocks == free)
            if let available { #expect(found.availableBlocks == available) }
            #expect(found.fragmentSize == disk.fragmentSize && found.files == disk.files)
        }
        try expect(quota: 10 * block, blocks: 10, free: 8, available: 8)
        try expect(quota: 10 * block - 1, blocks: 10, free: 7, available: 7)
        try expect(quota: 2 * block, blocks: 2, free: 0, available: 0)
        try expect(quota: 1, blocks: 1, free: 0, available: 0)
        try expect(quota: 1 << 62, blocks: UInt(1 << 62) / UInt(block), free: UInt(1 << 62) / UInt(block) - 2)
        #expect(try a.fileSystem.statistics().availableBlocks < disk.blocks)
        _ = try a.fileSystem.replica.setQuota(nil)
        #expect(try a.fileSystem.statistics().blocks == disk.blocks)
        try await a.close()
    }

    private func setUpWithoutQuota() async throws {
        try await Container.create(in: store, identity: TestDevice.identity)
    }
}

/// Which items wait for room, and when they are tried again.
@Suite struct QuotaDecisionTests {
    private func pending(_ position: Int64) -> Pending {
        Pending(position: position, item: ItemID(uuid: UUID()), change: .delete(base: 1))
    }

    @Test func `items that wait for room are told when it is enough for them`() {
        var faults = UploadFaults(fullBatch: 8)
        let (small, large, other) = (pending(1), pending(2), pending(3))
        faults.refused(small, because: "no room", growth: 10, at: .zero)
        faults.refused(large, because: "no room", growth: 20, at: .zero)
        #expect(faults.isOverQuota)
        faults.refused(other, because: "too long", at: .zero)
        #expect(faults.items(fitting: 9) == [])
        #expect(faults.items(fitting: 10) == [small.item])
        #expect(Set(faults.items(fitting: 20)) == [small.item, large.item])
        #expect(Set(faults.items(fitting: nil)) == [small.item, large.item], "the quota was removed")
        faults.forget([small.item, large.item])
        #expect(!faults.isOverQuota && faults.fault(of: other.item)?.text == "too long")
    }

    @Test func `room is admitted up to the quota, and never for what makes it smaller`() throws {
        var room = QuotaRoom(quota: try #require(ContainerQuota(byteCount: 100)), used: 90)
        #expect([11, 4, 6, 1, 0, -50].map { room.admit($0) } == [false, true, true, false, true, true])
        #expect(room.rest == 0)
        var over = QuotaRoom(quota: try #require(ContainerQuota(byteCount: 100)), used: 200)
        #expect([1, -1, .max].map { over.admit($0) } == [false, true, false])
        #expect(over.rest == 0)
    }
}

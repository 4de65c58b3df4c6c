import Control
import Foundation
import Glibc
import Model
import Replica
import TestStores
import Testing

@testable import FileSystem

/// Files without a name: they are there for as long as the kernel may ask for them.
@Suite(.virtualTime) struct OrphanTests {
    private func device() async throws -> TestDevice {
        try await TestDevice.start(on: MemoryStore(), name: "A")
    }

    /// Looks a name up as the kernel does.
    private func lookUp(_ name: String, on device: TestDevice) throws -> InodeNumber {
        try device.fileSystem.lookupReferenced(try ItemName(name), in: .root).inode
    }

    private func read(_ inode: InodeNumber, on device: TestDevice) async throws -> String {
        let opened = try await device.value(
            device.fileSystem.open(OpenRequest(inode: inode, flags: O_RDONLY, caller: TestDevice.caller)))
        defer { device.fileSystem.release(opened.handle, flockOwner: nil, by: TestDevice.caller) }
        return try await device.read(opened.handle)
    }

    @Test func `a replaced file is there until the kernel has given back every reference`() async throws {
        let device = try await device()
        try await device.write("old", to: "f")
        let old = try lookUp("f", on: device)
        #expect(try lookUp("f", on: device) == old)
        try await device.write("new", to: "temporary")
        try device.rename("temporary", to: "f")
        // Opened and closed again, more than once.
        for _ in 0..<2 { #expect(try await read(old, on: device) == "old") }
        #expect(try device.fileSystem.attributes(of: old).linkCount == 0)
        _ = try device.fileSystem.setAttributes(of: old, AttributeChange(mode: 0o600), by: TestDevice.caller)
        device.fileSystem.forget(old)
        #expect(try await read(old, on: device) == "old")
        device.fileSystem.forget(old)
        #expect(throws: FileError(.notFound, "\(old)")) { try device.fileSystem.attributes(of: old) }
        #expect(throws: FileError(.superseded, "\(old) no longer exists")) {
            try device.fileSystem.open(OpenRequest(inode: old, flags: O_RDONLY, caller: TestDevice.caller))
        }
        #expect(try await device.read("f") == "new")
        #expect(try device.fileSystem.replica.check() == [])
        try await device.close()
    }

    @Test func `what is open when the kernel forgets it is deleted with its last close`() async throws {
        let device = try await device()
        try await device.write("bytes", to: "f")
        let inode = try lookUp("f", on: device)
        let handle = try await device.open("f", O_RDONLY)
        try device.remove("f")
        device.fileSystem.forget(inode)
        #expect(try await device.read(handle) == "bytes")
        try await device.close(handle)
        #expect(throws: FileError(.notFound, "\(inode)")) { try device.fileSystem.attributes(of: inode) }
        try await device.close()
    }

    @Test func `another device's deletion leaves what the kernel knows`() async throws {
        let store = MemoryStore()
        let a = try await TestDevice.start(on: store, name: "A")
        try await a.write("bytes", to: "f")
        try await a.control.sync.sync(wait: true)
        let b = try await TestDevice.start(on: store, name: "B")
        try await b.control.sync.sync(wait: true)
        #expect(try await b.read("f") == "bytes")
        let inode = try lookUp("f", on: b)
        try a.remove("f")
        try await a.control.sync.sync(wait: true)
        try await b.control.sync.sync(wait: true)
        #expect(try b.names() == [])
        #expect(try await read(inode, on: b) == "bytes")
        b.fileSystem.forget(inode)
        #expect(throws: FileError(.notFound, "\(inode)")) { try b.fileSystem.attributes(of: inode) }
        try await a.close()
        try await b.close()
    }

    @Test func `the kernel is not given an inode that was deleted after it was read`() {
        let references = KernelReferences()
        let (a, b) = (InodeNumber(rawValue: 5), InodeNumber(rawValue: 6))
        let moment = references.moment
        #expect(references.retire(a, isKnown: { _ in false }))
        #expect(!references.add(a, since: moment))
        #expect(references.add(b, since: moment))
        #expect(!references.retire(b, isKnown: { _ in false }))
        #expect(references.remove(b, 1))
        #expect(references.retire(b, isKnown: { _ in false }))
        // More deletions than are remembered.
        for number in 100..<400 {
            #expect(references.retire(InodeNumber(rawValue: UInt64(number)), isKnown: { _ in false }))
        }
        #expect(!references.add(InodeNumber(rawValue: 7), since: moment))
        #expect(references.add(InodeNumber(rawValue: 7), since: references.moment))
    }

    @Test func `counts are exact, and take no memory once they are zero`() {
        var counts = ReferenceCounts()
        var model: [InodeNumber: UInt64] = [:]
        for step in 0..<20_000 as Range<UInt64> {
            let number = InodeNumber(rawValue: step &* 2_654_435_761 % 1000)
            if step.isMultiple(of: 3) {
                let count = step % 4
                let left = (model[number] ?? 0) - min(model[number] ?? 0, count)
                let isEmpty = counts.remove(number, count)
                #expect(isEmpty == (left == 0))
                model[number] = left
            } else {
                counts.add(number)
                model[number, default: 0] += 1
            }
            #expect(counts[number] == model[number])
        }
        for (number, count) in model where count > 0 {
            let isEmpty = counts.remove(number, count)
            #expect(isEmpty)
        }
        #expect(counts.pageCount == 0)
    }

    @Test func `beyond the limits the oldest are released, each once`() {
        func inode(_ number: Int) -> InodeNumber { InodeNumber(rawValue: UInt64(number)) }
        var ledger = OrphanLedger(limits: .init(count: 4, byteCount: 100))
        var released: [[InodeNumber]] = []
        for number in 1...4 { _ = ledger.insert(inode(number)) }
        released.append(ledger.excess())
        _ = ledger.insert(inode(5))
        _ = ledger.insert(inode(6))
        released.append(ledger.excess())
        released.append(ledger.excess())
        // 1 is in use, and stays; 3 is deleted.
        let removals = [ledger.remove(inode(3)), ledger.remove(inode(3))]
        #expect(removals == [true, false])
        var unmeasured = [ledger.insert(inode(7))]
        ledger.measured(inode(4), byteCount: 60)
        ledger.measured(inode(5), byteCount: 50)
        ledger.measured(inode(1), byteCount: 1000)
        released.append(ledger.excess())
        #expect(released == [[], [inode(1), inode(2)], [], [inode(4)]])
        #expect(ledger.contains(inode(1)))
        unmeasured.append(ledger.insert(inode(8)))
        #expect(unmeasured == [[1, 2, 4, 5, 6], [2, 6, 7]].map { $0.map(inode) })
    }

    @Test func `no process and no user leaves nothing for the others`() {
        // Descriptors of two processes of one user, and of one of another.
        var used = [0, 0, 0]
        let total = 1000
        func left() -> Int { total - used.reduce(0, +) }
        func open(_ process: Int) {
            while left() > 0 {
                let user = process == 2 ? used[2] : used[0] + used[1]
                guard OpenFileShare.allows(process: used[process], user: user, left: left() - 1) else { return }
                used[process] += 1
            }
        }
        open(0)
        #expect(used[0] > 900 && left() > 50, "\(used)")
        open(1)
        #expect(used[1] > 10 && left() > 20, "\(used)")
        open(2)
        #expect(used[2] > 10 && left() > 32, "\(used)")
    }

    /// As low a limit as a user may set: the daemon then opens some of its own, for uploads say.
    @Test func `who has few files open is not refused for what the daemon has opened meanwhile`() {
        let total = 236
        var (attacker, daemon) = (0, 50)
        func allows(_ open: Int, left: Int) -> Bool { OpenFileShare.allows(process: open, user: open, left: left) }
        while allows(attacker, left: total - daemon - attacker - 1) { attacker += 1 }
        #expect(attacker > 100)
        daemon += 20
        for victim in 0..<8 {
            let left = total - daemon - attacker - victim - 1
            #expect(left >= 0 && allows(victim, left: left), "\(victim)")
        }
    }
}

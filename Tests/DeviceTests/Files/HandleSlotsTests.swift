import Coordination
import Foundation
import Linux
import Model
import Testing

@testable import FileSystem

/// What a daemon that takes the place of a killed one finds.
@Suite struct HandleSlotsTests {
    private func record(_ number: UInt64, request: UInt64? = nil) -> HandleSlots.Record {
        HandleSlots.Record(
            handle: HandleID(rawValue: number), inode: InodeNumber(number + 100), flags: O_RDWR | O_APPEND,
            access: .passthrough,
            caller: Caller(
                thread: 7, user: 8, group: 9, request: request.map { RequestNumber(rawValue: $0) }))
    }

    private func next(_ slots: HandleSlots) throws -> HandleSlots { try HandleSlots(adopting: slots.file) }

    /// The locks that the next daemon finds.
    private func locks(after slots: HandleSlots) throws -> [(inode: InodeNumber, locks: [HeldLock])] {
        let found = try next(slots)
        return withExtendedLifetime(found) { found.locks.all }
    }

    @Test func `every field of an open file is found again`() throws {
        let slots = try HandleSlots()
        var known = record(1, request: 44)
        known.isNameless = true
        known.backing = 5
        let slot = try #require(slots.insert(known))
        slots.note(owners: [3, 4], in: slot)
        let found = try next(slots)
        #expect(found.isAdopted && !slots.isAdopted)
        #expect(found.replacementCount == 1)
        let (place, kept) = try #require(found.records.first)
        #expect(found.records.count == 1 && place == slot)
        #expect(kept.handle == known.handle && kept.inode == known.inode && kept.flags == known.flags)
        #expect(kept.access == .passthrough && kept.caller == known.caller)
        #expect(kept.isNameless && kept.backing == 5)
        #expect(found.owners(in: place) == [3, 4])
    }

    /// A claim that is held, of so many items.
    private func claim(_ number: UInt64, items: Int = 1) throws -> HeldClaim {
        var table = LockTable()
        table.trackClaims()
        let claims = try (0..<items).map { index in
            Claim(
                .write(.forMoving),
                ClaimItem(
                    ancestors: [.root], name: try ItemName("claimed item \(index)"),
                    inode: InodeNumber(UInt64(index) + 2)))
        }
        var set = ClaimSet(
            ClaimSetID(number), client: ClientID(4), process: ProcessID(5), coordinator: CoordinatorID("c"),
            purpose: PurposeID("p"), claims: claims)
        set.clientNumber = number
        _ = try table.request(set, now: Instant(sinceStart: .zero))
        return try #require(table.takeChangedClaims().held.first)
    }

    @Test func `claims that are held are found again, each as it was last`() throws {
        let slots = try HandleSlots()
        let (first, second) = (try claim(1), try claim(2))
        slots.keep([first, second], ended: [])
        #expect(try next(slots).claims.left == [first, second])
        let changed = try claim(1, items: 3)
        slots.keep([changed], ended: [ClaimSetID(2)])
        let found = try next(slots)
        #expect(found.claims.left == [changed])
        // Who takes over goes on with them.
        found.keep([second], ended: [ClaimSetID(1)])
        #expect(try next(found).claims.left == [second])
        #expect(!found.isIncomplete)
    }

    @Test func `more claims than slots, and one that is too long, are told`() throws {
        let slots = try HandleSlots()
        for number in 1...UInt64(ClaimSlots.count) { slots.keep([try claim(number)], ended: []) }
        #expect(!slots.isIncomplete)
        slots.keep([try claim(0)], ended: [])
        #expect(try next(slots).isIncomplete)
        let others = try HandleSlots()
        others.keep([try claim(1)], ended: [])
        // What was kept of it before is not what it is now.
        others.keep([try claim(1, items: 500)], ended: [])
        let found = try next(others)
        #expect(found.isIncomplete && found.claims.left == [])
    }

    @Test func `a slot is used again when its file is closed`() throws {
        let slots = try HandleSlots()
        let first = try #require(slots.insert(record(1)))
        slots.remove(first)
        #expect(slots.records.isEmpty)
        let second = try #require(slots.insert(record(2)))
        #expect(second == first)
        #expect(try next(slots).insert(record(3)) != second)
    }

    @Test func `more open files than slots are told`() throws {
        let slots = try HandleSlots()
        for number in 0..<UInt64(HandleSlots.count) { #expect(slots.insert(record(number)) != nil) }
        #expect(!slots.isIncomplete)
        #expect(slots.insert(record(0)) == nil)
        #expect(try next(slots).isIncomplete)
    }

    @Test func `the kernel's first request is kept`() throws {
        let slots = try HandleSlots()
        #expect(slots.initRequest.isEmpty)
        let bytes = [UInt8](1...104)
        bytes.withUnsafeBytes { slots.keep(initRequest: $0) }
        #expect(try next(slots).initRequest == bytes)
    }

    @Test func `other memory is refused`() throws {
        let file = try HandleSlots().file
        try file.write([0], at: 0)
        #expect(throws: FileError.self) { try HandleSlots(adopting: file) }
        try file.truncate(to: 4096)
        #expect(throws: FileError.self) { try HandleSlots(adopting: file) }
    }

    private func lock(_ start: Int64, _ owner: UInt64) -> HeldLock {
        .record(
            RecordLock(mode: .exclusive, range: start...start + 9, owner: LockOwner(owner), process: ProcessID(3)))
    }

    @Test func `locks are found again, and given up`() throws {
        let slots = try HandleSlots()
        let held = [lock(0, 1), lock(20, 2), .flock(.shared, OpenHandleID(4), ProcessID(5))]
        slots.keep(held, of: InodeNumber(7))
        slots.keep([lock(0, 3)], of: InodeNumber(8))
        let found = try locks(after: slots)
        #expect(found.map(\.inode) == [InodeNumber(7), InodeNumber(8)])
        #expect(Set(found[0].locks) == Set(held) && found[1].locks == [lock(0, 3)])
        slots.keep([lock(5, 1)], of: InodeNumber(7))
        slots.keep([], of: InodeNumber(8))
        let left = try locks(after: slots)
        #expect(left.map(\.inode) == [InodeNumber(7)] && left[0].locks == [lock(5, 1)])
    }

    @Test func `locks are written anew as often as one likes`() throws {
        let slots = try HandleSlots()
        for round in 0..<3 * LockSlots.lockCount / 100 {
            slots.keep((0..<100).map { lock(Int64($0) * 20, UInt64(round)) }, of: InodeNumber(UInt64(round % 5 + 1)))
        }
        #expect(!slots.isIncomplete)
        #expect(try locks(after: slots).allSatisfy { $0.locks.count == 100 })
    }

    @Test func `more locks than there is room for are told, and those before are kept`() throws {
        let slots = try HandleSlots()
        slots.keep([lock(0, 1)], of: InodeNumber(7))
        slots.keep((0...LockSlots.lockCount).map { lock(Int64($0) * 20, 1) }, of: InodeNumber(7))
        #expect(slots.isIncomplete)
        #expect(try locks(after: slots).first?.locks == [lock(0, 1)])
    }
}

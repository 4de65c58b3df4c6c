import Foundation
import Model
import Replica
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

/// Every cell of the matrix of what one side and the other can have done to an item.
@Suite struct ReconcileTests {
    static let directory = ItemID(uuid: UUID())
    static let here = DeviceID(uuid: UUID(uuidString: "11111111-0000-0000-0000-000000000000")!)
    static let there = DeviceID(uuid: UUID(uuidString: "22222222-0000-0000-0000-000000000000")!)
    static let editors = Reconcile.Editors(
        local: here, localName: "desk", remoteName: "sofa",
        newVersion: UUID(uuidString: "99999999-0000-0000-0000-000000000000")!)

    static func content(_ mark: UInt8) -> Content {
        let hash = ChunkHash(bytes: Array(repeating: mark, count: 32))!
        return Content(runs: [
            .stored(
                pack: ItemID(uuid: UUID(uuidString: "33333333-0000-0000-0000-0000000000\(mark)")!), offset: 0,
                chunks: [.init(hash: hash, byteCount: Int(mark))])
        ])
    }

    static let base = ItemRecord(
        id: ItemID(uuid: UUID()), parent: .root, name: try! ItemName("a.txt"), kind: .file, mode: 0o644,
        modified: Timestamp(rawValue: 100), size: 10, xattrs: ["user.k": Data([1])], content: .inline(content(10)),
        device: there, base: 1)

    static func local(_ change: (inout Reconcile.Local) -> Void = { _ in }) -> Reconcile.Local {
        var local = Reconcile.Local(
            parent: base.parent, name: base.name, mode: base.mode, modified: base.modified, target: nil,
            xattrs: base.xattrs, conflicts: base.conflicts, bytes: .unchanged)
        change(&local)
        return local
    }

    static func remote(_ change: (inout ItemRecord) -> Void = { _ in }) -> ItemRecord {
        var remote = base
        remote.device = there
        change(&remote)
        return remote
    }

    /// A save in place of a file gives its item another inode, which may have been changed as often.
    @Test(arguments: [(2, 5, true), (3, 5, false), (2, 6, false)])
    func `what was found out about bytes is void for others`(number: UInt64, generation: Int64, isFound: Bool) {
        let item = ItemID(uuid: UUID())
        let found = [item: LocalBytes(inode: InodeNumber(2), generation: 5, finding: .sameAsRemote)]
        let time = Timestamp(rawValue: 0)
        let attributes = Attributes(
            inode: InodeNumber(number), kind: .file, mode: 0o644, owner: 0, group: 0, linkCount: 1, size: 1, blocks: 8,
            accessed: time, modified: time, changed: time)
        let inode = Inode(
            attributes: attributes, isLocal: true, content: nil, incoming: nil, isModified: true,
            generation: generation, target: nil, backing: nil)
        #expect(found.bytes(meeting: item, inode) == (isFound ? .sameAsRemote : .unsent))
    }

    private func decide(_ local: Reconcile.Local, _ remote: ItemRecord, base: ItemRecord? = base) -> Reconcile {
        Reconcile(
            base: base, local: local, remote: remote, remoteBytesChanged: remote.content != base?.content,
            editors: Self.editors)
    }

    // MARK: Bytes

    /// The local edit at 200, the remote's earlier or later.
    private func edited(at time: Int64) -> Reconcile.Local {
        Self.local {
            $0.modified = Timestamp(rawValue: time)
            $0.bytes = .stored(Self.content(20), .inline(Self.content(20)))
        }
    }

    private func remotelyEdited(at time: Int64) -> ItemRecord {
        Self.remote {
            $0.modified = Timestamp(rawValue: time)
            $0.content = .inline(Self.content(30))
            $0.size = 30
        }
    }

    @Test func `what only the other side edited is taken`() {
        let decision = decide(Self.local(), remotelyEdited(at: 300))
        #expect(decision.bytes == .takeRemote)
        #expect(decision.modified.rawValue == 300 && decision.conflicts == [] && !decision.staysQueued)
    }

    @Test func `what only this side edited stays and is sent`() {
        let decision = decide(edited(at: 200), Self.remote { $0.mode = 0o600 })
        #expect(decision.bytes == .keepLocal && decision.mode == 0o600)
        #expect(decision.modified.rawValue == 200 && decision.conflicts == [] && decision.staysQueued)
    }

    @Test func `the earlier of two edits made here becomes a conflict version of this device`() {
        let decision = decide(edited(at: 200), remotelyEdited(at: 300))
        #expect(decision.bytes == .yieldToRemote(stored: Self.content(20)))
        #expect(
            decision.conflicts == [
                ConflictVersion(
                    id: Self.editors.newVersion, device: Self.here, deviceName: "desk",
                    modified: Timestamp(rawValue: 200), size: 20, content: .inline(Self.content(20)))
            ])
        #expect(decision.modified.rawValue == 300 && decision.staysQueued)
    }

    @Test func `the earlier of two edits made elsewhere becomes a conflict version of that device`() {
        let decision = decide(edited(at: 400), remotelyEdited(at: 300))
        #expect(decision.bytes == .keepLocal)
        #expect(
            decision.conflicts == [
                ConflictVersion(
                    id: Self.editors.newVersion, device: Self.there, deviceName: "sofa",
                    modified: Timestamp(rawValue: 300), size: 30, content: .inline(Self.content(30)))
            ])
        #expect(decision.modified.rawValue == 400 && decision.staysQueued)
    }

    @Test func `of two edits of one moment the device with the greater id wins`() {
        #expect(decide(edited(at: 300), remotelyEdited(at: 300)).bytes == .yieldToRemote(stored: Self.content(20)))
    }

    @Test func `an edit that cannot be sent now stays current however old it is`() {
        let local = Self.local {
            $0.modified = Timestamp(rawValue: 1)
            $0.bytes = .unsent
        }
        let decision = decide(local, remotelyEdited(at: 300))
        #expect(decision.bytes == .keepLocal && decision.conflicts.map(\.device) == [Self.there])
        #expect(decision.staysQueued)
    }

    @Test func `the same edit on both sides is no conflict`() {
        let decision = decide(Self.local { $0.bytes = .sameAsRemote }, remotelyEdited(at: 300))
        #expect(decision.bytes == .sameOnBothSides && decision.conflicts == [] && !decision.staysQueued)
    }

    @Test func `the remote's version is not kept twice`() {
        let first = decide(edited(at: 400), remotelyEdited(at: 300)).conflicts
        let again = Self.local {
            $0.modified = Timestamp(rawValue: 500)
            $0.bytes = .unsent
            $0.conflicts = first
        }
        #expect(decide(again, remotelyEdited(at: 300)).conflicts == first)
    }

    // MARK: Place, mode, attributes, target

    @Test func `a move here and an edit there are both kept`() {
        let decision = decide(Self.local { $0.name = try! ItemName("b.txt") }, remotelyEdited(at: 300))
        #expect(!decision.takesRemotePlace && decision.bytes == .takeRemote && decision.staysQueued)
    }

    @Test func `an edit here and a move there are both kept`() {
        let decision = decide(edited(at: 200), Self.remote { $0.parent = Self.directory })
        #expect(decision.takesRemotePlace && decision.bytes == .keepLocal && decision.staysQueued)
    }

    @Test func `of two moves the one that reached the container first stands`() {
        let decision = decide(
            Self.local { $0.name = try! ItemName("b.txt") }, Self.remote { $0.name = try! ItemName("c.txt") })
        #expect(decision.takesRemotePlace && !decision.staysQueued)
    }

    @Test(arguments: [
        (UInt16(0o644), UInt16(0o600), UInt16(0o600), true), (0o755, 0o644, 0o755, false), (0o755, 0o600, 0o755, false),
        (0o644, 0o644, 0o644, false),
    ])
    func `a mode that one side changed is that side's, else the remote's`(
        remote: UInt16, local: UInt16, merged: UInt16, queued: Bool
    ) {
        let decision = decide(Self.local { $0.mode = local }, Self.remote { $0.mode = remote })
        #expect(decision.mode == merged && decision.staysQueued == queued)
    }

    @Test func `attributes are merged one by one`() {
        let local = Self.local { $0.xattrs = ["user.k": Data([2]), "user.here": Data([3]), "user.both": Data([4])] }
        let remote = Self.remote { $0.xattrs = ["user.k": Data([1]), "user.there": Data([5]), "user.both": Data([6])] }
        let decision = decide(local, remote)
        #expect(
            decision.xattrs == [
                "user.k": Data([2]), "user.here": Data([3]), "user.there": Data([5]), "user.both": Data([6]),
            ])
        #expect(decision.staysQueued)
    }

    @Test func `an attribute that was removed on either side is gone`() {
        #expect(decide(Self.local { $0.xattrs = [:] }, Self.remote { $0.mode = 0 }).xattrs == [:])
        #expect(decide(Self.local { $0.mode = 0 }, Self.remote { $0.xattrs = [:] }).xattrs == [:])
    }

    @Test func `of two link targets the remote's stands and the local one becomes a link of its own`() {
        var base = Self.base
        base.kind = .symbolicLink
        base.content = nil
        base.size = 0
        base.target = "old"
        var remote = base
        remote.target = "theirs"
        let local = Self.local { $0.target = "mine" }
        let decision = decide(local, remote, base: base)
        #expect(decision.target == "theirs" && decision.losingTarget == "mine")
        #expect(decide(local, base, base: base).target == "mine")
        #expect(decide(local, base, base: base).losingTarget == nil)
    }

    @Test func `a directory takes the later of two times`() {
        var base = Self.base
        base.kind = .directory
        base.content = nil
        base.size = 0
        var remote = base
        remote.modified = Timestamp(rawValue: 300)
        let later = decide(Self.local { $0.modified = Timestamp(rawValue: 400) }, remote, base: base)
        #expect(later.modified.rawValue == 400 && later.staysQueued)
        let earlier = decide(Self.local { $0.modified = Timestamp(rawValue: 200) }, remote, base: base)
        #expect(earlier.modified.rawValue == 300 && !earlier.staysQueued)
    }

    // MARK: Conflict versions

    private func version(_ digit: Int) -> ConflictVersion {
        ConflictVersion(
            id: UUID(uuidString: "00000000-0000-0000-0000-00000000000\(digit)")!, device: Self.there,
            deviceName: "sofa", modified: Timestamp(rawValue: Int64(digit)), size: Int64(10 + digit),
            content: .inline(Self.content(UInt8(10 + digit))))
    }

    @Test func `conflicts that either side resolved are resolved and those that either added are kept`() {
        var base = Self.base
        base.conflicts = [version(1), version(2), version(3)]
        var remote = base
        remote.conflicts = [version(1), version(2), version(5)]
        let local = Self.local { $0.conflicts = [version(2), version(3), version(4)] }
        let decision = decide(local, remote, base: base)
        #expect(decision.conflicts == [version(2), version(4), version(5)])
        #expect(decision.staysQueued)
    }

    @Test func `without local changes the remote state is taken as it is`() {
        let remote = remotelyEdited(at: 1)
        let decision = Reconcile(accepting: remote, remoteBytesChanged: true)
        #expect(decision.takesRemotePlace && decision.bytes == .takeRemote && !decision.staysQueued)
    }
}

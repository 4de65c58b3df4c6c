import Foundation
import Model
import Testing

@testable import FileSystem
@testable import Replica
@testable import Sync
@testable import Transfer

/// Every combination of a local and a remote change of an item.
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

    /// An atomic save gives the item another inode, which may have the same generation.
    @Test(arguments: [(2, 5, true), (3, 5, false), (2, 6, false)])
    func `findings about bytes hold for one inode and generation`(number: UInt64, generation: Int64, isFound: Bool) {
        let item = ItemID(uuid: UUID())
        let found = [item: LocalBytes(inode: InodeNumber(2), generation: 5, finding: .sameAsRemote)]
        let time = Timestamp(rawValue: 0)
        let attributes = Attributes(
            inode: InodeNumber(number), kind: .file, mode: 0o644, owner: 0, group: 0, linkCount: 1, size: 1, blocks: 8,
            accessed: time, modified: time, changed: time)
        let inode = Inode(
            InodeRow(
                attributes: attributes, isLocal: true, backingModified: time, backingChanged: time, isModified: true,
                generation: generation, visited: 0, isSettled: false), content: nil, incoming: nil)
        #expect(found.bytes(meeting: item, inode) == (isFound ? .sameAsRemote : .unsent))
    }

    private func decide(_ local: Reconcile.Local, _ remote: ItemRecord, base: ItemRecord? = base) -> Reconcile {
        Reconcile(
            base: base, local: local, remote: remote, remoteBytesChanged: remote.content != base?.content,
            editors: Self.editors)
    }

    // MARK: Bytes

    /// A local edit made at `time`.
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

    @Test func `a remote edit without a local one is taken`() {
        let decision = decide(Self.local(), remotelyEdited(at: 300))
        #expect(decision.bytes == .takeRemote)
        #expect(decision.modified.rawValue == 300 && decision.conflicts == [] && !decision.staysQueued)
    }

    @Test func `a local edit without a remote one is kept and uploaded`() {
        let decision = decide(edited(at: 200), Self.remote { $0.mode = 0o600 })
        #expect(decision.bytes == .keepLocal && decision.mode == 0o600)
        #expect(decision.modified.rawValue == 200 && decision.conflicts == [] && decision.staysQueued)
    }

    @Test func `an earlier local edit becomes a conflict version of this device`() {
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

    @Test func `an earlier remote edit becomes a conflict version of the other device`() {
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

    @Test func `of two edits at the same time, the one of the device with the greater id wins`() {
        #expect(decide(edited(at: 300), remotelyEdited(at: 300)).bytes == .yieldToRemote(stored: Self.content(20)))
    }

    @Test func `a local edit that cannot be uploaded now stays current however old it is`() {
        let local = Self.local {
            $0.modified = Timestamp(rawValue: 1)
            $0.bytes = .unsent
        }
        let decision = decide(local, remotelyEdited(at: 300))
        #expect(decision.bytes == .keepLocal && decision.conflicts.map(\.device) == [Self.there])
        #expect(decision.staysQueued)
    }

    @Test func `identical edits on both sides are not a conflict`() {
        let decision = decide(Self.local { $0.bytes = .sameAsRemote }, remotelyEdited(at: 300))
        #expect(decision.bytes == .sameOnBothSides && decision.conflicts == [] && !decision.staysQueued)
    }

    @Test func `the same remote version is not kept twice as a conflict version`() {
        let first = decide(edited(at: 400), remotelyEdited(at: 300)).conflicts
        let again = Self.local {
            $0.modified = Timestamp(rawValue: 500)
            $0.bytes = .unsent
            $0.conflicts = first
        }
        #expect(decide(again, remotelyEdited(at: 300)).conflicts == first)
    }

    // MARK: Place, mode, attributes, target

    @Test func `a local move and a remote edit are both kept`() {
        let decision = decide(Self.local { $0.name = try! ItemName("b.txt") }, remotelyEdited(at: 300))
        #expect(!decision.takesRemotePlace && decision.bytes == .takeRemote && decision.staysQueued)
    }

    @Test func `a local edit and a remote move are both kept`() {
        let decision = decide(edited(at: 200), Self.remote { $0.parent = Self.directory })
        #expect(decision.takesRemotePlace && decision.bytes == .keepLocal && decision.staysQueued)
    }

    @Test func `of two concurrent moves, the first to reach the container wins`() {
        let decision = decide(
            Self.local { $0.name = try! ItemName("b.txt") }, Self.remote { $0.name = try! ItemName("c.txt") })
        #expect(decision.takesRemotePlace && !decision.staysQueued)
    }

    @Test(arguments: [
        (UInt16(0o644), UInt16(0o600), UInt16(0o600), true), (0o755, 0o644, 0o755, false), (0o755, 0o600, 0o755, false),
        (0o644, 0o644, 0o644, false),
    ])
    func `a mode changed on one side is kept, and of two changes the remote one wins`(
        remote: UInt16, local: UInt16, merged: UInt16, queued: Bool
    ) {
        let decision = decide(Self.local { $0.mode = local }, Self.remote { $0.mode = remote })
        #expect(decision.mode == merged && decision.staysQueued == queued)
    }

    @Test func `extended attributes are merged one by one`() {
        let local = Self.local { $0.xattrs = ["user.k": Data([2]), "user.here": Data([3]), "user.both": Data([4])] }
        let remote = Self.remote { $0.xattrs = ["user.k": Data([1]), "user.there": Data([5]), "user.both": Data([6])] }
        let decision = decide(local, remote)
        #expect(
            decision.xattrs == [
                "user.k": Data([2]), "user.here": Data([3]), "user.there": Data([5]), "user.both": Data([6]),
            ])
        #expect(decision.staysQueued)
    }

    @Test func `an extended attribute removed on either side is removed`() {
        #expect(decide(Self.local { $0.xattrs = [:] }, Self.remote { $0.mode = 0 }).xattrs == [:])
        #expect(decide(Self.local { $0.mode = 0 }, Self.remote { $0.xattrs = [:] }).xattrs == [:])
    }

    @Test func `of two link targets the remote one wins, and the local one becomes a separate link`() {
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

    @Test func `a directory gets the later of two modification times`() {
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

    @Test func `conflicts resolved on either side are removed, and conflicts added on either side are kept`() {
        var base = Self.base
        base.conflicts = [version(1), version(2), version(3)]
        var remote = base
        remote.conflicts = [version(1), version(2), version(5)]
        let local = Self.local { $0.conflicts = [version(2), version(3), version(4)] }
        let decision = decide(local, remote, base: base)
        #expect(decision.conflicts == [version(2), version(4), version(5)])
        #expect(decision.staysQueued)
    }

    @Test func `without local changes, the remote state is taken unchanged`() {
        let remote = remotelyEdited(at: 1)
        let decision = Reconcile(accepting: remote, remoteBytesChanged: true)
        #expect(decision.takesRemotePlace && decision.bytes == .takeRemote && !decision.staysQueued)
    }
}

import Foundation
import Model
import Testing

@testable import Replica

/// Paused and excluded items, and deletions that are held until they are confirmed.
@Suite struct HoldingTests {
    private func pause(_ path: String, _ isPaused: Bool = true, in lab: Lab) throws {
        try lab.replica.change { try $0.setPaused(isPaused, of: $0.rows.resolve(path)) }
    }

    // MARK: Pausing

    @Test func `a paused item stays in the outbox, with everything inside it`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        try lab.makeFile("in d", in: d)
        try lab.makeFile("a")
        try lab.makeFile("b")
        try pause("d", in: lab)
        try pause("b", in: lab)
        #expect(try lab.pendingNames() == ["a"])
        #expect(
            try lab.replica.read { try $0.isPaused($0.resolve("d/in d")) }
                && !lab.replica.read { try $0.isPaused($0.resolve("a")) })
        try pause("d", false, in: lab)
        #expect(try lab.pendingNames() == ["d", "in d", "a"])
        try lab.killAndOpen()
        #expect(try lab.replica.read { try $0.isPaused($0.resolve("b")) })
        #expect(try lab.replica.check() == [])
    }

    @Test func `a new directory that is held back also holds back its contents`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        try lab.makeFile("in d", in: d)
        let item = try #require(try lab.item("d"))
        let pending = try lab.replica.read {
            try $0.outbox.pending(limit: 9, after: 0, except: PendingExclusion(items: [item]))
        }
        #expect(pending.isEmpty)
    }

    @Test(arguments: [[".Trash-1000", "files"], [".Trash", "1000", "files"]])
    func `a file that was never uploaded stays in the outbox while it is in a desktop's trash`(
        place: [String]
    ) throws {
        let lab = try Lab()
        try lab.makeFile("old")
        let trash = try place.reduce(InodeNumber.root) { try lab.makeDirectory($1, in: $0) }
        try lab.uploadAll()
        let folder = try lab.makeDirectory("folder")
        try lab.makeFile("new", in: folder)
        for name in ["old", "folder"] {
            _ = try lab.replica.change {
                try $0.rename(lab.name(name), in: .root, to: lab.name(name), in: trash, mode: .noReplace)
            }
        }
        let trashed = try Set(lab.pendingNames())
        #expect(trashed.isSuperset(of: ["old", "folder"]) && !trashed.contains("new"))
        try lab.uploadAll(number: 2)
        #expect(try lab.replica.read { try $0.outbox.count() } == 1)
        #expect(try lab.replica.read { try $0.outbox.waitingCount() } == 0)
        #expect(try lab.replica.read { try $0.totals().uploads } == TransferTotals())
        #expect(try lab.replica.read { try $0.outbox.newItemsInTrash() } == UnsyncedItems(itemCount: 1, byteCount: 5))
        // Put back, it is uploaded.
        _ = try lab.replica.change {
            try $0.rename(lab.name("folder"), in: trash, to: lab.name("folder"), in: .root, mode: .noReplace)
        }
        #expect(try Set(lab.pendingNames()).isSuperset(of: ["folder", "new"]))
        #expect(try lab.replica.check() == [])
    }

    @Test(arguments: [
        [".Trash-1000"], [".Trash-x", "files"], ["d", ".Trash-1000", "files"], [".Trash-1000", "info"],
    ])
    func `other directories are no trash`(place: [String]) throws {
        let lab = try Lab()
        let directory = try place.reduce(InodeNumber.root) { try lab.makeDirectory($1, in: $0) }
        try lab.makeFile("new", in: directory)
        #expect(try lab.pendingNames() == place + ["new"])
    }

    @Test func `paused items do not count toward the batch limit`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        for index in 0..<5 { try lab.makeFile("\(index)", in: d) }
        try pause("d", in: lab)
        try lab.makeFile("last")
        #expect(try lab.replica.read { try $0.outbox.pending(limit: 1, after: 0).count } == 1)
    }

    @Test func `a new item with a deleted item's name is pending with that deletion while deletions are held`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        try lab.makeFile("in d", in: d)
        try lab.makeFile("a")
        try lab.makeFile("b")
        try lab.uploadAll()
        let old = try ["a", "d", "d/in d", "b"].map { try #require(try lab.item($0)) }
        for name in ["a", "b"] { _ = try lab.removeFile(lab.name(name), in: .root) }
        _ = try lab.removeFile(lab.name("in d"), in: d)
        _ = try lab.removeDirectory(lab.name("d"), in: .root)
        let waiting = PendingExclusion(deletionsAfter: 0)
        #expect(try lab.replica.read { try $0.outbox.pending(limit: 9, after: 0, except: waiting).isEmpty })
        try lab.makeFile("a")
        #expect(
            try lab.replica.read { try $0.outbox.pending(limit: 9, after: 0, except: waiting) }.map(\.item)
                == [old[0], #require(try lab.item("a"))])
        try lab.makeFile("d")
        #expect(
            try lab.replica.read { try $0.outbox.pending(limit: 9, after: 0, except: waiting) }.map(\.item)
                == [old[0], #require(try lab.item("a")), old[2], old[1], #require(try lab.item("d"))])
    }

    @Test func `the deletion of a directory waits for a paused item that was moved out of it`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        try lab.makeFile("f", in: d)
        try lab.uploadAll()
        _ = try lab.replica.change { try $0.rename(lab.name("f"), in: d, to: lab.name("f"), in: .root, mode: .replace) }
        try pause("f", in: lab)
        _ = try lab.removeDirectory(lab.name("d"), in: .root)
        #expect(try lab.pendingNames() == [])
        try pause("f", false, in: lab)
        #expect(try lab.pendingNames().count == 2)
    }

    @Test func `a deletion inside a paused directory is paused too`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        try lab.makeFile("f", in: d)
        try lab.uploadAll()
        try pause("d", in: lab)
        _ = try lab.removeFile(lab.name("f"), in: d)
        #expect(try lab.pendingNames() == [])
        try pause("d", false, in: lab)
        #expect(try lab.pendingNames().count == 2)
    }

    @Test func `a paused container stays paused after a kill`() throws {
        let lab = try Lab()
        #expect(try !lab.replica.read { try $0.isContainerPaused() })
        try lab.replica.change { try $0.setPaused(true, of: .root) }
        try lab.killAndOpen()
        #expect(try lab.replica.read { try $0.isContainerPaused() } && lab.replica.read { try $0.isPaused(.root) })
    }

    // MARK: Exclusion

    @Test func `an excluded item is deleted from the container and kept locally`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        let f = try lab.makeFile("f", in: d)
        try lab.makeFile("other")
        try lab.uploadAll()
        let (directory, file) = (try #require(try lab.item("d")), try #require(try lab.item("d/f")))
        try lab.replica.change { try $0.setExcluded(true, of: d) }
        #expect(try Set(lab.pendingNames()) == ["delete \(directory)", "delete \(file)"])
        #expect(try lab.item("d") == nil && lab.item("d/f") == nil)
        #expect(try lab.bytes(of: f) == "hello")
        #expect(
            try lab.replica.read { try $0.isExcluded(f) }
                && !lab.replica.read { try $0.isExcluded($0.resolve("other")) })
        try lab.makeFile("new", in: d)
        #expect(try lab.item("d/new") == nil)
        #expect(try lab.replica.check() == [])
        try lab.replica.change { try $0.setExcluded(false, of: d) }
        #expect(try Set(lab.pendingNames()).isSuperset(of: ["d", "f", "new"]))
        #expect(try lab.item("d/f") != nil && lab.item("d/f") != file)
        #expect(try lab.replica.read { try $0.inode(f).content } == nil)
        #expect(try lab.replica.check() == [])
    }

    @Test func `excluding the root or a directory with a file that is not local is refused`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        try lab.uploadAll()
        try lab.insertRemote("r", in: d)
        let refusal = FileError(.notLocal, "the bytes of #3 are not local")
        #expect(throws: refusal) { try lab.replica.change { try $0.setExcluded(true, of: d) } }
        let nextRefusal = FileError(.invalid, "a container cannot be excluded from its own sync")
        #expect(throws: nextRefusal) { try lab.replica.change { try $0.setExcluded(true, of: .root) } }
        #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        #expect(try lab.item("d/r") != nil)
    }

    @Test func `an exclusion survives a rename and an atomic save`() throws {
        let lab = try Lab()
        let f = try lab.makeFile("f")
        try lab.replica.change { try $0.setExcluded(true, of: f) }
        _ = try lab.replica.change {
            try $0.rename(lab.name("f"), in: .root, to: lab.name("g"), in: .root, mode: .replace)
        }
        #expect(try lab.item("g") == nil && lab.replica.read { try $0.isExcluded(f) })
        try lab.makeFile("temporary", bytes: "new")
        _ = try lab.replica.change {
            try $0.rename(lab.name("temporary"), in: .root, to: lab.name("g"), in: .root, mode: .replace)
        }
        #expect(try lab.item("g") == nil && lab.replica.read { try $0.isExcluded($0.resolve("g")) })
        #expect(try lab.bytes(of: try lab.inode("g")) == "new")
        #expect(try lab.pendingNames() == [])
        #expect(try lab.replica.check() == [])
    }

    @Test func `an item excluded by itself stays excluded when the directory around it is synced again`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        let f = try lab.makeFile("f", in: d)
        try lab.replica.change { try $0.setExcluded(true, of: f) }
        try lab.replica.change { try $0.setExcluded(true, of: d) }
        try lab.replica.change { try $0.setExcluded(false, of: d) }
        #expect(try lab.item("d") != nil && lab.item("d/f") == nil)
    }

    // MARK: Deletions

    @Test func `deletions are counted in runs by their times until they are confirmed`() throws {
        let lab = try Lab()
        for index in 0..<6 { try lab.makeFile("\(index)") }
        try lab.uploadAll()
        for index in 0..<4 { _ = try lab.removeFile(lab.name("\(index)"), in: .root) }
        // The lab's clock advances by a second with every change.
        let deletions = try lab.replica.read { try $0.outbox.deletions(gap: .milliseconds(500), ifMoreThan: 0) }
        #expect(deletions.count == 4 && deletions.longestRun == 1 && deletions.itemCount == 2 && !deletions.areHeld)
        let run = try lab.replica.read { try $0.outbox.deletions(gap: .seconds(1), ifMoreThan: 4) }
        #expect(run.longestRun == 4 && run.lastRun == 4 && run.itemCount == 0)
        try lab.replica.change { try $0.outbox.setDeletionsHeld(true) }
        let held = PendingExclusion(deletionsAfter: deletions.confirmed)
        #expect(try lab.replica.read { try $0.outbox.pending(limit: 9, after: 0, except: held).isEmpty })
        try lab.killAndOpen()
        #expect(try lab.replica.read { try $0.outbox.deletions(gap: .seconds(60), ifMoreThan: 0).areHeld })
        try lab.replica.change { try $0.outbox.confirmDeletions() }
        _ = try lab.removeFile(lab.name("4"), in: .root)
        let left = try lab.replica.read { try $0.outbox.deletions(gap: .seconds(60), ifMoreThan: 0) }
        #expect(left.count == 1 && left.lastRun == 1 && !left.areHeld)
        let confirmed = PendingExclusion(deletionsAfter: left.confirmed)
        #expect(try lab.replica.read { try $0.outbox.pending(limit: 9, after: 0, except: confirmed).count } == 4)
    }

    /// Takes the deletions out of the outbox as the uploader does.
    private func sendDeletions(_ lab: Lab, limit: Int = 100) throws {
        let pending = try lab.replica.read { try $0.outbox.pending(limit: limit, after: 0) }.filter {
            if case .delete = $0.change { true } else { false }
        }
        try lab.replica.change {
            try $0.outbox.dequeueDeletions(pending.map { (item: $0.item, position: $0.position) }, gap: .seconds(30))
        }
    }

    @Test func `uploaded deletions count toward the run of later ones, even after a kill`() throws {
        let lab = try Lab()
        for index in 0..<9 { try lab.makeFile("\(index)") }
        try lab.uploadAll()
        for index in 0..<3 { _ = try lab.removeFile(lab.name("\(index)"), in: .root) }
        try sendDeletions(lab, limit: 2)
        try sendDeletions(lab)
        #expect(
            try lab.replica.read { try $0.outbox.deletions(gap: .seconds(30), ifMoreThan: 0) } == PendingDeletions())
        _ = try lab.removeFile(lab.name("3"), in: .root)
        try lab.killAndOpen()
        let next = try lab.replica.read { try $0.outbox.deletions(gap: .seconds(30), ifMoreThan: 0) }
        #expect(next.count == 1 && next.leftCount == 3 && next.longestRun == 4 && next.itemCount == 5)
        // A longer gap starts a new run.
        let later = try lab.replica.read { try $0.outbox.deletions(gap: .milliseconds(500), ifMoreThan: 0) }
        #expect(later.count == 1 && later.leftCount == 0 && later.longestRun == 1)
        try lab.replica.change { try $0.outbox.confirmDeletions() }
        try sendDeletions(lab)
        _ = try lab.removeFile(lab.name("4"), in: .root)
        #expect(try lab.replica.read { try $0.outbox.deletions(gap: .seconds(30), ifMoreThan: 0).leftCount } == 0)
    }

    @Test func `an uploaded deletion does not count if another item took its name`() throws {
        let lab = try Lab()
        for name in ["a", "b"] { try lab.makeFile(name) }
        try lab.uploadAll()
        for name in ["a", "b"] { _ = try lab.removeFile(lab.name(name), in: .root) }
        try lab.makeFile("a")
        try sendDeletions(lab)
        try lab.makeFile("c")
        try lab.uploadAll()
        _ = try lab.removeFile(lab.name("c"), in: .root)
        #expect(try lab.replica.read { try $0.outbox.deletions(gap: .seconds(60), ifMoreThan: 0).leftCount } == 1)
    }

    @Test func `restoring deletions brings the items back in the state of the container`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        let e = try lab.makeDirectory("e", in: d)
        try lab.makeFile("f", in: e, bytes: "twelve bytes")
        try lab.makeFile("g")
        try lab.uploadAll(number: 3)
        let items = try ["d", "d/e", "d/e/f", "g"].map { try lab.item($0) }
        _ = try lab.removeFile(lab.name("f"), in: e)
        _ = try lab.removeDirectory(lab.name("e"), in: d)
        _ = try lab.removeDirectory(lab.name("d"), in: .root)
        _ = try lab.removeFile(lab.name("g"), in: .root)
        try lab.makeFile("g", bytes: "in its place")
        // One at a time, so that later changes find directories that earlier ones restored.
        var restored: Set<String> = []
        while case let names = try lab.replica.change({ transaction in
            try transaction.restoreDeletions(limit: 1)
        }), !names.isEmpty {
            restored.formUnion(names.map(\.name.string))
        }
        #expect(restored == ["d", "e", "f", "g 2"])
        #expect(try ["d", "d/e", "d/e/f", "g 2"].map { try lab.item($0) } == items)
        #expect(try lab.replica.read { try $0.attributes(of: $0.resolve("d/e/f")).size } == 12)
        #expect(try !lab.replica.read { try $0.isLocal($0.resolve("d/e/f")) })
        #expect(try lab.replica.read { try $0.existingEntry(lab.name("f"), in: $0.resolve("d/e")).baseNumber } == 3)
        #expect(try lab.pendingNames().sorted() == ["g", "g 2"])
        #expect(try lab.bytes(of: try lab.inode("g")) == "in its place")
        #expect(try lab.replica.check() == [])
    }
}

package import ControlAPI
import FileSystem
package import Model
import Replica
import Sync

extension PauseRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) throws(FileError) {
        try daemon.commands.setPaused(try daemon.fileSystem.resolve(item), paused)
    }
}

extension DeletionsRequest: DoneOrder {
    /// How many items one transaction restores.
    private static let restoreBatch = 500

    /// Confirms the held deletions, or restores the items.
    /// - Throws: `invalid` when none are held.
    package func perform(in daemon: ControlledDaemon) throws(FileError) {
        guard try daemon.replica.read({ try $0.outbox.deletions(gap: DeletionHold.gap, ifMoreThan: .max).areHeld })
        else {
            throw FileError(.invalid, "no deletions are held")
        }
        if discard {
            try restoreDeletions(in: daemon)
            try daemon.replica.change { try $0.outbox.setDeletionsHeld(false) }
        } else {
            try daemon.replica.change { try $0.outbox.confirmDeletions() }
        }
        try daemon.replica.makeDurable()
        // Together: in between, the deletions would count as held back for another reason.
        daemon.syncEngine.uploader.deletionsAreAnswered()
        daemon.activity.noteLocalChange()
    }

    private func restoreDeletions(in daemon: ControlledDaemon) throws(FileError) {
        while true {
            let restored = try daemon.replica.change { try $0.restoreDeletions(limit: Self.restoreBatch) }
            if restored.isEmpty { return }
            daemon.kernel.publish(restored.map { .appeared(EntryName($0.name, in: $0.parent), $0.inode, $0.kind) })
        }
    }
}

extension SyncRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) async throws(FileError) {
        try await daemon.sync.sync(wait: wait)
    }
}

extension StormAnswerRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) throws(FileError) {
        try daemon.fileSystem.throttle.answer(process, isAllowed: allowed)
    }
}

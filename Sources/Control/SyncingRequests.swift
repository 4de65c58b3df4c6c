package import ControlAPI
import FileSystem
package import Model

extension TransfersRequest: PerformedQuestion {
    package static var work: ControlWork { .endingWithClient }

    package func perform(in daemon: ControlledDaemon) throws(FileError) -> TransferListing {
        try daemon.fileSystem.transfers()
    }
}

extension PauseRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) throws(FileError) {
        try daemon.fileSystem.setPaused(item, paused)
    }
}

extension DeletionsRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) throws(FileError) {
        try daemon.fileSystem.answerHeldDeletions(discarding: discard)
    }
}

extension SyncRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) async throws(FileError) {
        try await daemon.fileSystem.sync(wait: wait)
    }
}

extension StormAnswerRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) throws(FileError) {
        try daemon.fileSystem.answerStorm(of: process, isAllowed: allowed)
    }
}

extension SharesRequest: PerformedQuestion {
    package func perform(in daemon: ControlledDaemon) async throws(FileError) -> [SharedFile] {
        try await daemon.fileSystem.shares()
    }
}

extension ShareRequest: PerformedOrder {
    package func perform(in daemon: ControlledDaemon) async throws(FileError) -> SharedFile {
        try await daemon.fileSystem.share(item, forSeconds: seconds)
    }
}

extension RevokeShareRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) async throws(FileError) {
        try await daemon.fileSystem.revokeShare(id)
    }
}

import ControlAPI
import FileSystem
import Model

extension TransfersRequest: PerformedQuestion {
    static var work: ControlWork { .endingWithClient }

    func perform(in daemon: ControlledDaemon) throws(FileError) -> TransferListing {
        try daemon.fileSystem.transfers()
    }
}

extension PauseRequest: DoneOrder {
    func perform(in daemon: ControlledDaemon) throws(FileError) { try daemon.fileSystem.setPaused(item, paused) }
}

extension DeletionsRequest: DoneOrder {
    func perform(in daemon: ControlledDaemon) throws(FileError) {
        try daemon.fileSystem.answerHeldDeletions(discarding: discard)
    }
}

extension SyncRequest: DoneOrder {
    func perform(in daemon: ControlledDaemon) async throws(FileError) { try await daemon.fileSystem.sync(wait: wait) }
}

extension StormAnswerRequest: DoneOrder {
    func perform(in daemon: ControlledDaemon) throws(FileError) {
        try daemon.fileSystem.answerStorm(of: process, isAllowed: allowed)
    }
}

extension SharesRequest: PerformedQuestion {
    func perform(in daemon: ControlledDaemon) async throws(FileError) -> [SharedFile] {
        try await daemon.fileSystem.shares()
    }
}

extension ShareRequest: PerformedOrder {
    func perform(in daemon: ControlledDaemon) async throws(FileError) -> SharedFile {
        try await daemon.fileSystem.share(item, forSeconds: seconds)
    }
}

extension RevokeShareRequest: DoneOrder {
    func perform(in daemon: ControlledDaemon) async throws(FileError) { try await daemon.fileSystem.revokeShare(id) }
}

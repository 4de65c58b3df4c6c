package import ControlAPI
import FileSystem
package import Model

extension VersionsRequest: PerformedQuestion {
    package static var work: ControlWork { .endingWithClient }

    package func perform(in daemon: ControlledDaemon) throws(FileError) -> [ItemVersion] {
        try daemon.fileSystem.versions(item)
    }
}

extension ConflictsRequest: PerformedQuestion {
    package static var work: ControlWork { .endingWithClient }

    package func perform(in daemon: ControlledDaemon) throws(FileError) -> [ConflictedItem] {
        try daemon.fileSystem.conflicts()
    }
}

extension ResolveRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) async throws(FileError) {
        try await daemon.fileSystem.resolve(item, keep: VersionChoice(keep))
    }
}

extension RestoreVersionRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) async throws(FileError) {
        try await daemon.fileSystem.restoreVersion(item, id: id)
    }
}

extension DiscardVersionRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) throws(FileError) {
        try daemon.fileSystem.discardVersion(item, id: id)
    }
}

extension MarkVersionResolvedRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) async throws(FileError) {
        try await daemon.fileSystem.markVersionResolved(item, id: id)
    }
}

extension RestoreDeletedRequest: PerformedOrder {
    package func perform(in daemon: ControlledDaemon) async throws(FileError) -> RestoredItem {
        RestoredItem(path: try await daemon.fileSystem.restoreDeleted(item))
    }
}

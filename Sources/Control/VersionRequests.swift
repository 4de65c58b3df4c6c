package import ControlAPI
import FileSystem
package import Model
import Replica

extension VersionsRequest: PerformedQuestion {
    package static var work: ControlWork { .endingWithClient }

    package func perform(in daemon: ControlledDaemon) throws(FileError) -> [ItemVersion] {
        try daemon.fileSystem.versions(item)
    }
}

extension ConflictsRequest: PerformedQuestion {
    package static var work: ControlWork { .endingWithClient }

    /// The files whose conflict versions wait to be resolved: at most ``ConflictedItem/limit``, by path.
    package func perform(in daemon: ControlledDaemon) throws(FileError) -> [ConflictedItem] {
        var items: [ConflictedItem] = []
        let numbers = try daemon.replica.conflictedInodes(limit: ConflictedItem.limit)
        let paths = try daemon.replica.paths(of: numbers)
        for number in numbers {
            if Task.isCancelled { throw FileError(.interrupted, "the client has disconnected") }
            guard let path = paths[number] else { continue }
            do throws(FileError) {
                let versions = try daemon.fileSystem.versions(of: number).filter { $0.kind != .earlier }
                items.append(ConflictedItem(path: path.string, versions: versions))
            } catch {
                // Removed, or resolved, since they were listed.
                guard error.code == .notFound || error.code == .superseded else { throw error }
            }
        }
        return items.sorted { $0.path < $1.path }
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

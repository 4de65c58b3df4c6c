package import ControlAPI
import FileSystem
import Foundation
package import Model
import Replica
import Sync

extension VersionsRequest: PerformedQuestion {
    package static var work: ControlWork { .endingWithClient }

    package func perform(in daemon: ControlledDaemon) throws(FileError) -> [ItemVersion] {
        try daemon.versions.versions(item)
    }
}

extension ConflictsRequest: PerformedQuestion {
    package static var work: ControlWork { .endingWithClient }

    /// The files whose conflict versions wait to be resolved: at most ``ConflictedItem/limit``, by path.
    package func perform(in daemon: ControlledDaemon) throws(FileError) -> [ConflictedItem] {
        var items: [ConflictedItem] = []
        let numbers = try daemon.replica.read { try $0.conflictedInodes(limit: ConflictedItem.limit) }
        let paths = try daemon.replica.read { try $0.paths(of: numbers) }
        for number in numbers {
            if Task.isCancelled { throw FileError(.interrupted, "the client has disconnected") }
            guard let path = paths[number] else { continue }
            do throws(FileError) {
                let versions = try daemon.versions.versions(of: number).filter { $0.kind != .earlier }
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
        let number = try daemon.fileSystem.resolve(item)
        try await daemon.versions.resolve(number, keep: VersionChoice(keep))
        await daemon.versions.showChosen(number)
    }
}

extension RestoreVersionRequest: DoneOrder {
    /// Makes an earlier version current again.
    ///
    /// - Throws: ``FileError`` with `superseded` when there is no such version, `busy` when the current bytes are not
    ///   uploaded yet.
    package func perform(in daemon: ControlledDaemon) async throws(FileError) {
        let number = try daemon.fileSystem.resolve(item)
        guard let entry = try daemon.replica.read({ try $0.entries(of: number).first }), entry.item != nil else {
            throw FileError(.noAttribute, "an item that is not synced has no earlier versions")
        }
        if let conflict = entry.conflicts.first(where: { $0.id == UUID(uuidString: id) }) {
            let content = try await daemon.versions.chunkList(conflict.content, size: conflict.size)
            try daemon.versions.replace(entry, with: (content, conflict.modified), conflicts: entry.conflicts)
            return await daemon.versions.showChosen(number)
        }
        let version = try daemon.versions.earlierVersion(id, of: entry)
        let content = try await daemon.versions.chunkList(version.content, size: version.size)
        try daemon.versions.replace(entry, with: (content, version.modified), conflicts: entry.conflicts)
        await daemon.versions.showChosen(number)
    }
}

extension DiscardVersionRequest: DoneOrder {
    /// Discards a version: a conflict version is resolved and not kept, an earlier version is no longer listed here.
    ///
    /// - Throws: ``FileError`` with `invalid` for the current version, `superseded` when there is no such version.
    package func perform(in daemon: ControlledDaemon) throws(FileError) {
        guard id != "current" else { throw FileError(.invalid, "the current version cannot be discarded") }
        let entry = try daemon.versions.versionedEntry(try daemon.fileSystem.resolve(item))
        guard let identity = entry.item else {
            throw FileError(.superseded, "there is no version \(id); see: dewpoint versions")
        }
        if let conflict = entry.conflicts.first(where: { $0.id == UUID(uuidString: id) }) {
            try daemon.versions.replace(
                entry, with: nil, conflicts: entry.conflicts.filter { $0.id != conflict.id },
                discarding: conflict.id.uuidString.lowercased())
        } else {
            let version = try daemon.versions.earlierVersion(id, of: entry)
            try daemon.replica.change { try $0.history.noteDiscarded(version.id, of: identity) }
        }
    }
}

extension MarkVersionResolvedRequest: DoneOrder {
    /// Marks a conflict version as resolved, on every device: it becomes an earlier version.
    ///
    /// A program is notified of a conflict shortly before its commit lands, and until then the version could not be kept:
    /// so this waits for the commit.
    /// - Throws: ``FileError`` with `invalid` for the current version and `superseded` when there is no such version;
    ///   `readOnly` when the store refuses writing; `busy` when the conflict does not get into the container.
    package func perform(in daemon: ControlledDaemon) async throws(FileError) {
        guard id != "current" else { throw FileError(.invalid, "the current version is no conflict") }
        try daemon.syncEngine.context.requireWritable()
        let end = daemon.environment.uptime() + Self.conflictPatience
        while true {
            let number = try daemon.fileSystem.resolve(item)
            do throws(FileError) { return try markResolved(number, daemon.versions) } catch {
                guard error.code == .busy, daemon.environment.uptime() < end, !Task.isCancelled,
                    try !daemon.replica.read({ try $0.isPaused(number) })
                else { throw error }
            }
            await daemon.activity.waitForProgress(atMost: .milliseconds(100))
        }
    }

    /// How long to wait until a new conflict is in the container.
    private static let conflictPatience = Duration.seconds(5)

    private func markResolved(_ number: InodeNumber, _ versions: ItemVersions) throws(FileError) {
        let entry = try versions.versionedEntry(number)
        guard let conflict = entry.conflicts.first(where: { $0.id == UUID(uuidString: id) }) else {
            // Resolved already.
            _ = try versions.earlierVersion(id, of: entry)
            return
        }
        guard entry.base?.conflicts.contains(where: { $0.id == conflict.id }) ?? false else {
            throw FileError(.busy, "the conflict is not uploaded yet; try again, or keep the current version")
        }
        try versions.replace(entry, with: nil, conflicts: entry.conflicts.filter { $0.id != conflict.id })
    }
}

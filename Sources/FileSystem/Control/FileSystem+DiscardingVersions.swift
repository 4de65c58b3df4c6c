import Foundation
package import Model
import Replica
import Sync

/// Ends versions: a conflict is marked as resolved, or a version is discarded.
extension FileSystem {
    /// Discards a version: a conflict version is resolved and not kept, an earlier version is no longer listed here.
    ///
    /// - Throws: ``FileError`` with `invalid` for the current version, `superseded` when there is no such version.
    package func discardVersion(_ path: String, id: String) throws(FileError) {
        guard id != "current" else { throw FileError(.invalid, "the current version cannot be discarded") }
        let entry = try versionedEntry(try resolve(path))
        guard let item = entry.item else {
            throw FileError(.superseded, "there is no version \(id); see: dewpoint versions")
        }
        if let conflict = entry.conflicts.first(where: { $0.id == UUID(uuidString: id) }) {
            try replace(
                entry, with: nil, conflicts: entry.conflicts.filter { $0.id != conflict.id },
                discarding: conflict.id.uuidString.lowercased())
        } else {
            let version = try earlierVersion(id, of: entry)
            try replica.write { transaction throws(FileError) in
                try transaction.noteDiscarded(version.id, of: item)
            }
        }
    }

    /// Marks a conflict version as resolved, on every device: it becomes an earlier version.
    ///
    /// A program is notified of a conflict shortly before its commit lands, and until then the version could not be kept:
    /// so this waits for the commit.
    /// - Throws: ``FileError`` with `invalid` for the current version and `superseded` when there is no such version;
    ///   `readOnly` when the store refuses writing; `busy` when the conflict does not get into the container.
    package func markVersionResolved(_ path: String, id: String) async throws(FileError) {
        guard id != "current" else { throw FileError(.invalid, "the current version is no conflict") }
        try requireWritableContainer()
        let end = environment.uptime() + Self.conflictPatience
        while true {
            let number = try resolve(path)
            do throws(FileError) { return try markVersionResolved(number, path: path, id: id) } catch {
                guard error.code == .busy, environment.uptime() < end, !Task.isCancelled, try !replica.isPaused(number)
                else { throw error }
            }
            await activity.waitForProgress(atMost: .milliseconds(100))
        }
    }

    /// How long to wait until a new conflict is in the container.
    private static let conflictPatience = Duration.seconds(5)

    private func markVersionResolved(_ number: InodeNumber, path: String, id: String) throws(FileError) {
        let entry = try versionedEntry(number)
        guard let conflict = entry.conflicts.first(where: { $0.id == UUID(uuidString: id) }) else {
            // Resolved already.
            _ = try earlierVersion(id, of: entry)
            return
        }
        guard entry.base?.conflicts.contains(where: { $0.id == conflict.id }) ?? false else {
            throw FileError(.busy, "the conflict is not uploaded yet; try again, or keep the current version")
        }
        try replace(entry, with: nil, conflicts: entry.conflicts.filter { $0.id != conflict.id })
    }
}

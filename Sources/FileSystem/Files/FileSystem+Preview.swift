package import Model
import Replica
import Sync

/// A new device shows the root of the container while it imports the rest; whatever needs the rest waits for it.
extension FileSystem {
    /// Runs what may need more of the tree than is shown: then it is run again when the whole tree is there.
    package func inTree<Value>(
        _ body: @escaping @Sendable () throws(FileError) -> Answer<Value>
    ) throws(FileError) -> Answer<Value> {
        do throws(FileError) {
            return try body()
        } catch {
            guard error.code == .treeIncomplete else { throw error }
            return .pending { [self] () async throws(FileError) in
                try await wholeTree()
                // What was shown may have been withdrawn, and another snapshot's root be shown by now.
                return try await inTree(body).value
            }
        }
    }

    /// Runs what needs the whole tree, when it is there.
    package func inWholeTree<Value>(
        _ body: @escaping @Sendable () throws(FileError) -> Answer<Value>
    ) throws(FileError) -> Answer<Value> {
        try inTree { [self] () throws(FileError) in
            try replica.checkTree()
            return try body()
        }
    }

    /// Returns when the replica has the whole tree, or shows none of it.
    ///
    /// - Throws: ``FileError`` with `interrupted` when the task is cancelled.
    package func wholeTree() async throws(FileError) {
        while replica.isPreviewing {
            await activity.waitForProgress(atMost: Self.treePause)
            guard !Task.isCancelled else { throw FileError(.interrupted, "the wait for the tree was interrupted") }
        }
    }

    /// How often a wait looks for itself, for progress that it missed.
    private static let treePause = Duration.seconds(1)

    /// The attributes of a name in the root that is shown; `nil` when nothing is shown.
    ///
    /// - Throws: ``FileError`` with `notFound`, and `treeIncomplete` for another directory.
    func previewed(_ name: ItemName, in parent: InodeNumber) throws(FileError) -> Attributes? {
        guard let preview = replica.preview else { return nil }
        guard parent == .root else {
            try replica.checkTree()
            return nil
        }
        guard let found = preview.child(name) else { throw FileError(.notFound, name.string) }
        return found
    }

    /// The preview that a listing of a directory shows; `nil` when nothing is shown.
    ///
    /// - Throws: ``FileError`` with `treeIncomplete` for another directory than the root.
    func previewListed(_ directory: InodeNumber) throws(FileError) -> TreePreview? {
        guard let preview = replica.preview else { return nil }
        if directory != .root { try replica.checkTree() }
        return preview
    }
}

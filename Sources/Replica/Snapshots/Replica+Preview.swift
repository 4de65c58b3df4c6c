import GRDB
package import Model
import Synchronization

extension Replica {
    /// What is shown of a tree that is not imported yet; `nil` as a rule.
    package var preview: TreePreview? {
        guard isPreviewing else { return nil }
        return shownPreview.preview.withLock { $0 }
    }

    /// Whether there is a ``preview``: then no change is made, and the index has nothing of what is shown.
    package var isPreviewing: Bool { shownPreview.isOn.load(ordering: .acquiring) }

    /// Shows the root of a snapshot from now on, until it is imported or ``endPreview()`` is called.
    ///
    /// - Returns: `nil`, and nothing is shown, when this device has items already, or there are too many.
    package func showPreview(_ items: [SnapshotRootItem]) throws(FileError) -> TreePreview? {
        let environment = environment
        return try translated {
            try checkAlive()
            return try withWriter { rows in
                try commitBatch(rows)
                guard items.count <= TreePreview.itemLimit, try SnapshotImport.isPossible(rows),
                    try !rows.exists("SELECT 1 FROM inodes WHERE id <> ?", [InodeNumber.root.row])
                else { return nil }
                let preview = TreePreview(
                    items, start: try SnapshotImport.start(rows), time: environment.now(), owner: environment.owner,
                    group: environment.group)
                // On the queue of the writer: no change comes between.
                shownPreview.preview.withLock { $0 = preview }
                shownPreview.isOn.store(true, ordering: .releasing)
                return preview
            }
        }
    }

    /// Shows what the index has from now on.
    ///
    /// - Returns: What was shown; `nil` if there was no preview.
    @discardableResult
    package func endPreview() -> TreePreview? {
        shownPreview.isOn.store(false, ordering: .releasing)
        return shownPreview.preview.withLock { $0.take() }
    }

    /// - Throws: `treeIncomplete` while there is a preview.
    package func checkTree() throws(FileError) {
        if isPreviewing { throw Self.incompleteTree }
    }

    private static let incompleteTree = FileError(
        .treeIncomplete, "the container's tree is being read for the first time; try again in a moment")
}

/// Whether and what a replica shows of a tree that it does not have yet.
final class ShownPreview: Sendable {
    let isOn = Atomic(false)
    let preview = Mutex<TreePreview?>(nil)
}

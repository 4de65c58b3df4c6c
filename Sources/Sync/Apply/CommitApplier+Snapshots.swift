import Foundation
import Model
import Replica

extension CommitApplier {
    /// Applies a part of a snapshot as if it were a commit.
    func apply(
        _ step: SnapshotStep, of summary: SnapshotSummary, _ findings: RecordFindings
    ) throws(FileError) {
        let number = summary.number
        // A snapshot's part has no device of its own; its commit number is only reached with the last part.
        let commit = Commit(
            sequence: step.isLast ? number : replica.applied, device: DeviceID(uuid: ItemID.root.uuid), deviceName: "",
            time: Timestamp(rawValue: 0), nonce: ItemID.root.uuid, records: step.records.map(\.record),
            tombstones: step.tombstones)
        try apply(commit, findings) { transaction in
            for (record, number) in step.records { try transaction.setBaseNumber(record.id, number) }
            guard step.isLast else { return try transaction.beginSnapshot(number) }
            try transaction.finishSnapshot()
            try transaction.setApplied(number, nonce: summary.nonce, time: summary.time)
        }
    }

    /// Invalidates the kernel's root directory after a whole tree was applied: the kernel can only know that it was
    /// empty.
    func publishRootChanged() throws(FileError) {
        let kernel = local.kernel
        var last: ItemName?
        kernel.inodeChanged(.root, bytes: true)
        while true {
            let children = try replica.read { try $0.children(of: .root, after: last, limit: Self.childLimit) }
            for child in children { kernel.entryChanged(child.name, in: .root) }
            guard let name = children.last?.name else { return }
            last = name
        }
    }

    /// Invalidates the kernel's root directory, which may be known to be empty.
    func publish(_ preview: TreePreview) {
        local.kernel.inodeChanged(.root, bytes: true)
        for child in preview.children { local.kernel.entryChanged(child.name, in: .root) }
    }

    /// Ends the preview of a tree, if there is one, and has the kernel forget it.
    func withdrawPreview() {
        guard let preview = replica.endPreview() else { return }
        publish(preview)
        context.activity.noteProgress()
    }

    /// How many names are read at a time.
    private static let childLimit = 1000
}

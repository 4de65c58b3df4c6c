import Model
import Replica

/// What an import from a remote is going to send, in an order in which a directory precedes what is in it.
struct RclonePlan: Sendable {
    /// The directory of the container that an item goes into.
    enum Parent: Sendable {
        /// The one that receives the import, which may be missing yet.
        case destination
        case existing(ItemID)
        /// One of the plan, by its position.
        case planned(Int)
    }

    enum Action: Sendable {
        case directory
        case file
        /// New bytes of an item.
        case replacement(ItemRecord, CommitNumber)
    }

    struct Item: Sendable {
        let path: ItemPath
        let name: ItemName
        let parent: Parent
        let action: Action
        /// `nil` for a directory whose time the remote does not know.
        let modified: Timestamp?
        let byteCount: Int64?
        let hash: SourceHash?

        var isFile: Bool {
            switch action {
            case .directory: false
            case .file, .replacement: true
            }
        }
    }

    var items: [Item] = []
    var presentCount = 0
    /// The files that were imported and are gone from the remote.
    var gone: [ItemPath] = []

    var fileCount: Int { items.count { $0.isFile } }

    var byteCount: Int64 { items.reduce(0) { $0.addingWithoutOverflow($1.byteCount ?? 0) } }

    /// What a run would report.
    ///
    /// - Parameter report: What was left out.
    func preview(_ report: TransferReport) -> TransferReport {
        var report = report
        report.fileCount = fileCount
        report.directoryCount = items.count - fileCount
        report.byteCount = byteCount
        report.replacedCount = items.count { if case .replacement = $0.action { true } else { false } }
        report.presentCount = presentCount
        report.goneCount = gone.count
        return report
    }
}

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
        /// New bytes of an item. Few items are replaced, and a record is large.
        indirect case replacement(ItemRecord, CommitNumber)
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

        /// What a file counts whose length is not known: 16 MiB.
        static let unknownByteCount: Int64 = 16 << 20

        /// How much room it takes on the disk.
        var expectedByteCount: Int64 { isFile ? byteCount ?? Self.unknownByteCount : 0 }
    }

    var items: [Item] = []
    var presentCount = 0
    /// The files that were imported and are gone from the remote.
    var gone: [ItemPath] = []

    /// The positions of the items that go together: up to a count of items, and of bytes; a single larger file by itself, so
    /// that the disk has to have room for it alone.
    func batches(itemCount: Int, byteCount limit: Int64) -> [Range<Int>] {
        var batches: [Range<Int>] = []
        var (start, byteCount) = (0, Int64(0))
        for (index, item) in items.enumerated() {
            let sum = byteCount.addingWithoutOverflow(item.expectedByteCount)
            if index - start == itemCount || sum > limit, index > start {
                batches.append(start..<index)
                (start, byteCount) = (index, 0)
            }
            byteCount = byteCount.addingWithoutOverflow(item.expectedByteCount)
        }
        return start < items.count ? batches + [start..<items.count] : batches
    }

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

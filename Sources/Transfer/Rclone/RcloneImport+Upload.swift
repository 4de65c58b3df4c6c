import Model
import Remote
import Replica
import Sync

/// An item of a batch whose bytes are here.
struct FetchedItem {
    let record: ItemRecord
    /// Its path at the remote, for people.
    let path: String
    /// `nil` for a directory.
    var file: RcloneFetch.File?
    /// Whether it replaces the bytes of an existing item.
    var isReplacement = false
}

/// Uploads a batch of fetched items as one commit, or as several when the records are long.
extension RcloneImport {
    mutating func upload(_ items: [FetchedItem]) async throws {
        guard !items.isEmpty else { return }
        for _ in 0..<Import.batchLimit {
            let arrivals = try await store(items)
            if case .sent = try await sender.send(arrivals) { return }
        }
        throw FileError(.busy, "another device keeps condemning the objects of this upload; try again later")
    }

    private mutating func store(_ items: [FetchedItem]) async throws -> [Arrival] {
        let (sync, progress) = (scratch.sync, progress)
        return try await ContentUpload.run(
            replica: sync.replica, store: sync.container.store, environment: sync.context.environment, window: window,
            progressed: { _, byteCount in progress.advance(byteCount: byteCount) }
        ) { upload in
            defer { window = upload.window }
            for (index, item) in items.enumerated() {
                guard let file = item.file else { continue }
                try await upload.add(Self.number(index), from: try file.open())
            }
            try await upload.finish()
            return try items.enumerated().map { index, item in
                Arrival(
                    record: item.record, content: item.file == nil ? nil : try upload.content(of: Self.number(index)),
                    isReplacement: item.isReplacement, path: item.path)
            }
        }
    }

    /// The key of a file within an upload.
    private static func number(_ index: Int) -> InodeNumber { InodeNumber(UInt64(index)) }
}

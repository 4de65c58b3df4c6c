package import ControlAPI
import FileSystem
import Foundation
import Logging
package import Model
import Remote
import Replica
import Sync

extension ShareRequest: PerformedOrder {
    /// Shares the bytes that a file has now: later changes do not show.
    ///
    /// Nothing is downloaded for it: the store copies the bytes, except for those of short files.
    /// - Throws: ``FileError`` with `invalid` for what cannot be shared, `busy` for a file that is not uploaded yet,
    ///   `readOnly` when the store refuses writing.
    package func perform(in daemon: ControlledDaemon) async throws(FileError) -> SharedFile {
        guard 1...SharedFile.lifetimeLimitSeconds ~= seconds else {
            throw FileError(.invalid, "a file can be shared for 1 second to 7 days")
        }
        try daemon.syncEngine.context.requireWritable()
        let (content, size, name) = try sharedContent(in: daemon)
        do throws(StoreError) {
            let shares = daemon.shareStore
            let list = try await ManifestStore(store: daemon.syncEngine.container.store).get(content, size: size)
            let now = daemon.environment.now()
            let record = ShareRecord(
                id: daemon.environment.makeUUID(), path: name, byteCount: list.byteCount, created: now,
                expires: now.later(by: .seconds(seconds)), device: daemon.replica.device,
                deviceName: daemon.location.deviceName)
            let link = try await shares.create(record, list)
            daemon.syncEngine.context.logger.notice("shared a file by a link", metadata: ["share": "\(record.id)"])
            do throws(StoreError) { try await shares.deleteExpired(now: now) } catch {
                daemon.syncEngine.context.logger.info(
                    "failed to delete shares that have ended", metadata: ["error": "\(error)"])
            }
            return SharedFile(record, link)
        } catch {
            throw ShareStore.refusal(error)
        }
    }

    /// The bytes of a file in the container, and its path there.
    private func sharedContent(in daemon: ControlledDaemon) throws(FileError) -> (
        ItemRecord.Reference, size: Int64, String
    ) {
        let number = try daemon.fileSystem.resolve(item)
        let kind = try daemon.replica.read { try $0.attributes(of: number).kind }
        guard kind == .file else {
            throw FileError(.invalid, "only files can be shared; this is a \(kind.rawValue): put it into an archive")
        }
        let status = try daemon.states.itemStatus(item)
        guard status.isUbiquitousItem, let entry = try daemon.replica.read({ try $0.entries(of: number).first }) else {
            throw FileError(.invalid, "this file is not synced, so the container does not have its bytes")
        }
        guard status.isUploaded, let base = entry.base, let content = base.content else {
            throw FileError(.busy, "this file is not uploaded yet; to wait for it, run: dewpoint sync --wait")
        }
        return (content, base.size, try daemon.replica.read { try $0.path(of: number) })
    }
}

extension SharesRequest: PerformedQuestion {
    /// What is shared, by any device, the oldest first.
    package func perform(in daemon: ControlledDaemon) async throws(FileError) -> [SharedFile] {
        do throws(StoreError) {
            let now = daemon.environment.now()
            let shares = daemon.shareStore
            var files: [SharedFile] = []
            for record in try await shares.list() {
                files.append(SharedFile(record, try await shares.currentLink(record, now: now)))
            }
            return files
        } catch {
            throw ShareStore.refusal(error)
        }
    }
}

extension RevokeShareRequest: DoneOrder {
    /// Ends a share: its link leads nowhere from now on.
    ///
    /// - Throws: ``FileError`` with `noAttribute` when there is none with this id.
    package func perform(in daemon: ControlledDaemon) async throws(FileError) {
        guard let uuid = UUID(uuidString: id) else {
            throw FileError(.invalid, "\(id) is not the id of a share; see: dewpoint share --list")
        }
        try daemon.syncEngine.context.requireWritable()
        do throws(StoreError) {
            try await daemon.shareStore.revoke(uuid)
        } catch {
            throw error.code == .notFound
                ? FileError(.noAttribute, "there is no share \(id); see: dewpoint share --list", cause: error)
                : ShareStore.refusal(error)
        }
        daemon.syncEngine.context.logger.notice("ended a share", metadata: ["share": "\(id)"])
    }
}

extension ControlledDaemon {
    fileprivate var shareStore: ShareStore {
        ShareStore(store: syncEngine.container.store, packs: fileSystem.downloads.packs)
    }
}

extension SharedFile {
    fileprivate init(_ record: ShareRecord, _ link: ObjectLink?) {
        self.init(
            id: record.id.uuidString.lowercased(), path: record.path, size: record.byteCount, created: record.created,
            expires: record.expires, device: record.deviceName, link: link?.url, linkExpires: link?.expires)
    }
}

extension ShareStore {
    /// - Returns: `nil` when its time is over, and when its bytes are missing or damaged.
    fileprivate func currentLink(_ record: ShareRecord, now: Timestamp) async throws(StoreError) -> ObjectLink? {
        do throws(StoreError) { return try await link(record, now: now) } catch {
            guard error.code == .notFound || error.code == .corrupt else { throw error }
            return nil
        }
    }

    /// A store without links has its own sentence for it.
    fileprivate static func refusal(_ error: StoreError) -> FileError {
        guard error.code == .invalid, !error.detail.isEmpty else { return error.fileError }
        return FileError(.invalid, error.detail, cause: error)
    }
}

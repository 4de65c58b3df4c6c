import Foundation
import Logging
package import Model
import Remote
import Replica
import Sync

/// Files shared by a link, with people who have no access to the container.
extension FileSystem {
    /// Shares the bytes that a file has now: later changes do not show.
    ///
    /// Nothing is downloaded for it: the store copies the bytes, except for those of short files.
    /// - Parameter seconds: How long the link lasts, 1 to ``SharedFile/lifetimeLimitSeconds``.
    /// - Throws: ``FileError`` with `invalid` for what cannot be shared, `busy` for a file that is not uploaded yet,
    ///   `readOnly` when the store refuses writing.
    package func share(_ path: String, forSeconds seconds: Int64) async throws(FileError) -> SharedFile {
        guard 1...SharedFile.lifetimeLimitSeconds ~= seconds else {
            throw FileError(.invalid, "a file can be shared for 1 second to 7 days")
        }
        try requireWritableContainer()
        let (content, size, name) = try sharedContent(path)
        do throws(StoreError) {
            let shares = shareStore
            let list = try await ManifestStore(store: syncEngine.container.store).get(content, size: size)
            let now = environment.now()
            let record = ShareRecord(
                id: environment.makeUUID(), path: name, byteCount: list.byteCount, created: now,
                expires: now.later(by: .seconds(seconds)), device: replica.device, deviceName: location.deviceName)
            let link = try await shares.create(record, list)
            logger.notice("shared a file by a link", metadata: ["share": "\(record.id)"])
            do throws(StoreError) { try await shares.deleteExpired(now: now) } catch {
                logger.info("failed to delete shares that have ended", metadata: ["error": "\(error)"])
            }
            return Self.sharedFile(record, link)
        } catch {
            throw Self.refusal(error)
        }
    }

    /// What is shared, by any device, the oldest first.
    package func shares() async throws(FileError) -> [SharedFile] {
        do throws(StoreError) {
            let now = environment.now()
            let shares = shareStore
            var files: [SharedFile] = []
            for record in try await shares.list() {
                // A link lasts whole seconds.
                let link = record.expires.seconds > now.seconds ? try await shares.link(record, now: now) : nil
                files.append(Self.sharedFile(record, link))
            }
            return files
        } catch {
            throw Self.refusal(error)
        }
    }

    /// Ends a share: its link leads nowhere from now on.
    ///
    /// - Throws: ``FileError`` with `noAttribute` when there is none with this id.
    package func revokeShare(_ id: String) async throws(FileError) {
        guard let uuid = UUID(uuidString: id) else {
            throw FileError(.invalid, "\(id) is not the id of a share; see: dewpoint share --list")
        }
        try requireWritableContainer()
        do throws(StoreError) {
            try await shareStore.revoke(uuid)
        } catch {
            throw error.code == .notFound
                ? FileError(.noAttribute, "there is no share \(id); see: dewpoint share --list", cause: error)
                : Self.refusal(error)
        }
        logger.notice("ended a share", metadata: ["share": "\(id)"])
    }

    private var shareStore: ShareStore { ShareStore(store: syncEngine.container.store, packs: reading.downloads.packs) }

    /// The bytes of a file in the container, and its path there.
    private func sharedContent(_ path: String) throws(FileError) -> (ItemRecord.Reference, size: Int64, String) {
        let number = try resolve(path)
        let kind = try replica.attributes(of: number).kind
        guard kind == .file else {
            throw FileError(.invalid, "only files can be shared; this is a \(kind.rawValue): put it into an archive")
        }
        let status = try itemStatus(path)
        guard status.isUbiquitousItem, let entry = try replica.entries(of: number).first else {
            throw FileError(.invalid, "this file is not synced, so the container does not have its bytes")
        }
        guard status.isUploaded, let base = entry.base, let content = base.content else {
            throw FileError(.busy, "this file is not uploaded yet; to wait for it, run: dewpoint sync --wait")
        }
        return (content, base.size, try replica.path(of: number))
    }

    private static func sharedFile(_ record: ShareRecord, _ link: ObjectLink?) -> SharedFile {
        SharedFile(
            id: record.id.uuidString.lowercased(), path: record.path, size: record.byteCount, created: record.created,
            expires: record.expires, device: record.deviceName, link: link?.url, linkExpires: link?.expires)
    }

    /// A store without links has its own sentence for it.
    private static func refusal(_ error: StoreError) -> FileError {
        guard error.code == .invalid, !error.detail.isEmpty else { return error.fileError }
        return FileError(.invalid, error.detail, cause: error)
    }
}

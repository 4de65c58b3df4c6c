import Logging
import Model
import Remote
import Replica

/// Examines locally changed bytes before a commit is applied that changes the same files, or adds files of the same
/// names.
///
/// They are read and hashed, and chunks that the container lacks are sent, so that the loser of two edits can become a
/// conflict version in one index transaction. Bytes that cannot be read or sent now have no finding, and stay current.
struct LocalBytesFinder: Sendable {
    private let replica: Replica
    private let local: any LocalFiles
    private let store: any ObjectStore
    private let environment: EngineEnvironment
    private let logger: Logger

    init(_ context: SyncContext, store: any ObjectStore, local: any LocalFiles) {
        replica = context.replica
        self.local = local
        self.store = store
        environment = context.environment
        logger = context.logger
    }

    /// For a file with several names each record gets its own finding: the container may have other bytes under each
    /// name.
    ///
    /// - Parameter contents: The chunk lists of the records.
    func find(for records: [ItemRecord], contents: [ItemID: Content]) async throws -> [ItemID: LocalBytes] {
        // Else a file would be taken for unchanged that a program has just stored into.
        try local.recordStores()
        var found: [ItemID: LocalBytes] = [:]
        let directories = Dictionary(
            records.filter { $0.kind == .directory }.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        // After a power failure, what this device has sent may be newer than its files, which then stay current.
        let skipsOwn = replica.repairReport.followsPowerFailure
        for record in records where record.kind == .file && !(skipsOwn && record.device == replica.device) {
            guard let content = contents[record.id], let (number, base) = try meeting(record, content, directories)
            else { continue }
            found[record.id] = try await examine(number, base: base, remote: content)
        }
        return found
    }

    /// The local file with changed bytes that a record meets, and the bytes that the container had under its name
    /// before.
    ///
    /// - Parameter directories: Those in the same commit as the record.
    private func meeting(
        _ record: ItemRecord, _ content: Content, _ directories: [ItemID: ItemRecord]
    ) throws(FileError) -> (InodeNumber, Content?)? {
        if let entry = try replica.read({ try $0.entry(of: record.id) }) {
            guard entry.base?.content != record.content else { return nil }
            let inode = try replica.read { try $0.inode(entry.inode) }
            guard inode.isModified, inode.isLocal else { return nil }
            return (entry.inode, try base(of: entry, inode))
        }
        // A new file that may equal a new one here.
        guard let parent = try directory(record.parent, directories, depth: 0),
            let occupant = try replica.read({ try $0.entry(record.name, in: parent) }),
            occupant.base == nil, occupant.kind == .file
        else { return nil }
        let inode = try replica.read { try $0.inode(occupant.inode) }
        guard inode.isModified, inode.isLocal, inode.attributes.size == content.byteCount else { return nil }
        return (occupant.inode, nil)
    }

    /// The bytes that the file last had in common with the container, if the container has them for this entry. A file
    /// that was renamed or exchanged here had those of another name.
    private func base(of entry: Entry, _ inode: Inode) throws(FileError) -> Content? {
        try inode.content.flatMap { entry.base?.content?.has($0) ?? false ? $0 : nil }
    }

    /// How many levels of new directories are searched upwards; deeper ones are treated as new, with files of their
    /// own.
    private static let depthLimit = 100

    /// The directory here that is an item, or that a new item will be merged with since it has the same name.
    private func directory(
        _ item: ItemID, _ directories: [ItemID: ItemRecord], depth: Int
    ) throws(FileError) -> InodeNumber? {
        if item == .root { return .root }
        if let entry = try replica.read({ try $0.entry(of: item) }) { return entry.inode }
        guard depth < Self.depthLimit, let record = directories[item],
            let parent = try directory(record.parent, directories, depth: depth + 1),
            let occupant = try replica.read({ try $0.entry(record.name, in: parent) }),
            occupant.base == nil, occupant.kind == .directory
        else { return nil }
        return occupant.inode
    }

    /// Whether a file that is marked as modified has the bytes of the container's state after all; sends nothing.
    func compare(_ inode: Inode, with base: Content) throws(FileError) -> LocalBytes? {
        let number = inode.attributes.inode
        if local.isOpenForWriting(number) { return nil }
        do throws(FileError) {
            guard try ChunkScan.content(of: replica.openBytes(of: number)).hasSameBytes(as: base) else { return nil }
            return LocalBytes(inode: number, generation: inode.generation, finding: .sameAsBase)
        } catch {
            logger.notice(
                "failed to compare a file that another device deleted; keeping it", metadata: ["error": "\(error)"])
            return nil
        }
    }

    private func examine(_ number: InodeNumber, base: Content?, remote: Content) async throws -> LocalBytes? {
        // A file open for writing may be in the middle of an edit, which is later than any other device's.
        if local.isOpenForWriting(number) { return nil }
        do {
            let inode = try replica.read { try $0.inode(number) }
            let descriptor = try replica.openBytes(of: number)
            let stored = try await ContentUpload.run(
                replica: replica, store: store, environment: environment, known: remote
            ) { upload in
                try await upload.add(number, base: inode.content, from: descriptor)
                try await upload.finish()
                return try upload.content(of: number)
            }
            guard let content = stored else { return nil }
            let finding: LocalBytes.Finding
            if content.hasSameBytes(as: remote) {
                finding = .sameAsRemote
            } else if let base, content.hasSameBytes(as: base) {
                finding = .sameAsBase
            } else {
                finding = .stored(content, try await ManifestStore(store: store).put(content))
            }
            return LocalBytes(inode: number, generation: inode.generation, finding: finding)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // Nothing is lost: the local edit stays current, and the other becomes the version.
            logger.notice(
                "failed to compare a local edit with the one of another device; keeping both",
                metadata: ["error": "\(error)"])
            return nil
        }
    }
}

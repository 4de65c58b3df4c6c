import Coordination
package import FileSystem
import Foundation
import Logging
package import Model
import Remote
package import Replica
import Sync
import Linux

/// Versions of an item: the current one, those that lost a conflict, and earlier ones.
package struct ItemVersions: Sendable {
    private let fileSystem: FileSystem

    package init(_ fileSystem: FileSystem) { self.fileSystem = fileSystem }

    private var replica: Replica { fileSystem.replica }
    private var syncEngine: SyncEngine { fileSystem.syncEngine }
    private var files: MountFiles { fileSystem.files }
    private var downloads: Downloads { fileSystem.downloads }
    private var events: ItemEvents { fileSystem.events }

    /// Every version of a file: the current one, then conflict versions, then earlier ones, each newest first.
    ///
    /// - Throws: ``FileError`` with `invalid` for an item without bytes.
    package func versions(_ path: String) throws(FileError) -> [ItemVersion] {
        try versions(of: try fileSystem.resolve(path))
    }

    package func versions(of number: InodeNumber) throws(FileError) -> [ItemVersion] {
        let inode = try replica.read { try $0.inode(number) }
        guard inode.attributes.kind == .file else {
            throw FileError(.invalid, "only files have versions; this is a \(inode.attributes.kind.rawValue)")
        }
        guard let entry = try replica.read({ try $0.entries(of: number).first }) else {
            throw FileError(.superseded, "\(number) no longer has a name")
        }
        let conflicts = entry.conflicts.map { version in
            ItemVersion(
                id: version.id.uuidString.lowercased(), kind: .conflict, date: version.modified,
                computer: version.deviceName == "" ? nil : version.deviceName.string, device: version.device,
                size: version.size, local: false)
        }
        return try [current(entry, inode)] + conflicts.reversed() + earlier(entry)
    }

    private func current(_ entry: Entry, _ inode: Inode) throws(FileError) -> ItemVersion {
        let device = try replica.maker(of: entry, inode)
        let attributes = try fileSystem.current(of: inode.attributes.inode)
        // Newer bytes that are not downloaded yet are already the current version.
        return ItemVersion(
            id: "current", kind: .current, date: attributes.modified, computer: try name(of: device),
            device: device, size: try inode.incoming?.byteCount ?? attributes.size,
            local: inode.isLocal && !inode.hasIncoming)
    }

    private func name(of device: DeviceID) throws(FileError) -> String? {
        device == replica.device ? fileSystem.location.deviceName : try replica.read { try $0.deviceName(device) }
    }

    private func earlier(_ entry: Entry) throws(FileError) -> [ItemVersion] {
        var versions: [ItemVersion] = []
        for version in try earlierVersions(of: entry) {
            versions.append(
                ItemVersion(
                    id: version.id, kind: .earlier, date: version.modified, computer: try computer(of: version),
                    device: version.device, size: version.size, local: false))
        }
        return versions
    }

    private func computer(of version: EarlierVersion) throws(FileError) -> String? {
        if let name = version.deviceName, !name.isEmpty { return name }
        return try name(of: version.device)
    }

    /// What the container had of a file until it was replaced, and its conflict versions that were resolved since, as
    /// far as they are kept and were not discarded; the newest state first.
    private func earlierVersions(of entry: Entry) throws(FileError) -> [EarlierVersion] {
        guard let item = entry.item else { return [] }
        let unresolved = Set(entry.conflicts.map(\.id))
        var resolved: Set<UUID> = []
        var versions = (entry.base?.conflicts ?? []).filter { !unresolved.contains($0.id) }.map(EarlierVersion.init)
        resolved.formUnion((entry.base?.conflicts ?? []).map(\.id))
        var last = entry.base?.content
        for state in try replica.read({ try $0.history(of: item) }) where !state.isDeleted {
            if let content = state.record.content, content != last {
                versions.append(EarlierVersion(state, content))
            }
            last = state.record.content
            for conflict in state.record.conflicts.reversed()
            where !unresolved.contains(conflict.id) && resolved.insert(conflict.id).inserted {
                versions.append(EarlierVersion(conflict))
            }
        }
        let discarded = try replica.read { try $0.discardedVersions(of: item) }
        return versions.filter { !discarded.contains($0.id) }
    }

    // MARK: Resolving

    /// Makes later reads return the chosen version: if the file was local, its older bytes are read until the chosen
    /// ones are downloaded.
    package func showChosen(_ number: InodeNumber) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.downloadChosen(number) }
            // Cancelled when the bytes are downloaded first.
            group.addTask { try? await fileSystem.environment.sleep(Self.chosenPatience) }
            await group.next()
            group.cancelAll()
        }
        await files.kernel.drain()
    }

    /// How long to wait for the chosen bytes. The download of a larger file continues after the answer.
    private static let chosenPatience = Duration.seconds(10)

    private func downloadChosen(_ number: InodeNumber) async {
        do throws(FileError) {
            if try replica.read({ try $0.inode(number) }).hasIncoming {
                try await downloads.makeLocal(number, because: .version)
            }
        } catch {
            // The choice stands; its bytes are downloaded later.
            fileSystem.logger.info(
                "the chosen version is not downloaded yet; downloading it later",
                metadata: ["inode": "\(number)", "error": "\(error)"])
        }
    }

    /// Resolves a conflict: one version becomes or stays current, the others are no longer kept as conflict versions.
    ///
    /// The former current version is kept as an earlier version. The resolution is synced to every device.
    /// - Throws: ``FileError`` with `noAttribute` when there is no conflict, `superseded` when there is no such
    ///   version, `busy` when the current bytes must be replaced and are not uploaded yet.
    package func resolve(_ number: InodeNumber, keep choice: VersionChoice) async throws(FileError) {
        let inode = try replica.read { try $0.inode(number) }
        guard let entry = try replica.read({ try $0.entries(of: number).first }), !entry.conflicts.isEmpty else {
            throw FileError(.noAttribute, "there is no conflict to resolve")
        }
        let kept: ConflictVersion?
        switch choice {
        case .current:
            kept = nil
        case .newest:
            let device = try replica.maker(of: entry, inode)
            let now = (try fileSystem.current(of: number).modified, device)
            kept = entry.conflicts.filter { ($0.modified, $0.device) > now }
                .max { ($0.modified, $0.device) < ($1.modified, $1.device) }
        case .version(let id):
            kept = entry.conflicts.first { $0.id == UUID(uuidString: id) }
            if kept == nil {
                throw FileError(.superseded, "there is no conflict version \(id); see: dewpoint versions")
            }
        }
        let content: Content?
        if let kept { content = try await chunkList(kept.content, size: kept.size) } else { content = nil }
        try replace(entry, with: content.flatMap { content in kept.map { (content, $0.modified) } }, conflicts: [])
    }

    package func earlierVersion(_ id: String, of entry: Entry) throws(FileError) -> EarlierVersion {
        let version = try earlierVersions(of: entry).first { $0.id == id.lowercased() }
        guard let version else { throw FileError(.superseded, "there is no version \(id); see: dewpoint versions") }
        return version
    }

    // MARK: Bytes

    /// The bytes of a version; the first of them were read.
    ///
    /// - Throws: ``FileError`` with `superseded` when there is no such version; when its bytes cannot be read, the error
    ///   of a read that waits for them.
    package func versionBytes(_ path: String, id: String) async throws(FileError) -> VersionBytes {
        let number = try fileSystem.resolve(path)
        let entry = try versionedEntry(number)
        let inode = try replica.read { try $0.inode(number) }
        if id == "current", inode.isLocal, !inode.hasIncoming {
            if let open = files.open.inode(number) { try fileSystem.recordBytes(of: open) }
            let descriptor = try replica.openBytes(of: number)
            return VersionBytes(
                .local(descriptor), byteCount: try descriptor.status().size, reader: versionReader,
                context: downloads.context)
        }
        let content: Content
        if id == "current", let known = try inode.newest {
            content = known
        } else {
            let (reference, size): (ItemRecord.Reference?, Int64)
            if id == "current" {
                (reference, size) = (entry.base?.content, entry.base?.size ?? 0)
            } else if let conflict = entry.conflicts.first(where: { $0.id == UUID(uuidString: id) }) {
                (reference, size) = (conflict.content, conflict.size)
            } else {
                let version = try earlierVersion(id, of: entry)
                (reference, size) = (version.content, version.size)
            }
            guard let reference else { throw FileError(.corrupt, "the index has no content for \(path)") }
            content = try await VersionFetch(downloads.context).run { [self] in
                try await chunkList(reference, size: size)
            }
        }
        var bytes = VersionBytes(
            .stored(content), byteCount: content.byteCount, reader: versionReader, context: downloads.context)
        try await bytes.begin()
        return bytes
    }

    /// Neither searches nor fills the caches of downloads: versions are read rarely.
    private var versionReader: ChunkReader { ChunkReader(packs: downloads.packs) }

    package func versionedEntry(_ number: InodeNumber) throws(FileError) -> Entry {
        let kind = try replica.read { try $0.attributes(of: number).kind }
        guard kind == .file else {
            throw FileError(.invalid, "only files have versions; this is a \(kind.rawValue)")
        }
        guard let entry = try replica.read({ try $0.entries(of: number).first }) else {
            throw FileError(.superseded, "\(number) no longer has a name")
        }
        return entry
    }

    package func chunkList(_ reference: ItemRecord.Reference, size: Int64) async throws(FileError) -> Content {
        do throws(StoreError) {
            return try await ManifestStore(store: syncEngine.container.store).get(reference, size: size)
        } catch {
            throw error.fileError
        }
    }

    /// Every change of versions that other devices are to see.
    ///
    /// - Throws: ``FileError`` with `readOnly` when the store refuses writing.
    package func replace(
        _ entry: Entry, with new: (content: Content, modified: Timestamp)?, conflicts: [ConflictVersion],
        discarding discarded: String? = nil
    ) throws(FileError) {
        try syncEngine.context.requireWritable()
        let isOpen = files.open.inode(entry.inode) != nil
        if new != nil, files.open.inode(entry.inode)?.hasWriters == true {
            throw FileError(.busy, "\(entry.name) is open for writing")
        }
        var number = entry.inode
        try replica.change { transaction in
            guard let item = entry.item, let now = try transaction.rows.entry(of: item),
                now.conflicts == entry.conflicts
            else {
                throw FileError(.superseded, "\(entry.name) has changed in the meantime; list its versions again")
            }
            try transaction.history.setConflicts(conflicts, of: now)
            if let discarded { try transaction.history.noteDiscarded(discarded, of: item) }
            if let new {
                number = try transaction.replaceContent(
                    now, with: new.content, modified: new.modified, inUse: isOpen)
            } else {
                try transaction.outbox.enqueue(item)
            }
        }
        if new != nil { try showReplaced(entry, now: number) }
        fileSystem.activity.noteLocalChange()
        publishReplaced(entry, now: number, conflicts: conflicts)
    }

    private func showReplaced(_ entry: Entry, now number: InodeNumber) throws(FileError) {
        files.kernel.publish(
            number == entry.inode
                ? [.inodeChanged(number, bytes: true), .attributesChanged(number)]
                : [.replaced(EntryName(entry.name, in: entry.parent), old: entry.inode, new: number)])
        if number != entry.inode {
            try files.becameOrphan(entry.inode)
        }
        // A local file is downloaded again so that it stays local.
        if try replica.read({ try $0.inode(number) }).hasIncoming {
            try ItemCommands(fileSystem).request(number, because: .version)
        }
    }

    private func publishReplaced(_ entry: Entry, now number: InodeNumber, conflicts: [ConflictVersion]) {
        guard events.hasObservers else { return }
        if number != entry.inode, let place = try? events.places.item(number) {
            events.superseded(entry.inode, by: place)
        }
        for version in entry.conflicts where !conflicts.contains(where: { $0.id == version.id }) {
            events.version(.resolved, version.id.uuidString.lowercased(), of: number, by: .engine)
        }
        if entry.conflicts.isEmpty != conflicts.isEmpty {
            events.ubiquityAttributes(UbiquityKeys.conflicts, of: number)
        }
        events.changed(number, by: .engine)
    }

}

/// A version of a file that is neither current nor an unresolved conflict.
package struct EarlierVersion {
    package var id: String
    package var modified: Timestamp
    var device: DeviceID
    /// Of a conflict version.
    var deviceName: String?
    package var size: Int64
    package var content: ItemRecord.Reference

    init(_ state: EarlierState, _ content: ItemRecord.Reference) {
        id = "commit-\(state.number)"
        modified = state.record.modified
        device = state.record.maker
        size = state.record.size
        self.content = content
    }

    init(_ conflict: ConflictVersion) {
        id = conflict.id.uuidString.lowercased()
        modified = conflict.modified
        device = conflict.device
        deviceName = conflict.deviceName.string
        size = conflict.size
        content = conflict.content
    }
}

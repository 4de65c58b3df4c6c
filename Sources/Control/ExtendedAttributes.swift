package import FileSystem
import Foundation
package import Model
import Remote
import Replica
import Sync

/// Extended attributes: those that are stored, and the control attributes (``ControlAttribute``).
package struct ExtendedAttributes: Sendable {
    private let fileSystem: FileSystem

    package init(_ fileSystem: FileSystem) { self.fileSystem = fileSystem }

    private var replica: Replica { fileSystem.replica }
    private var syncEngine: SyncEngine { fileSystem.syncEngine }
    private var downloads: Downloads { fileSystem.downloads }
    private var states: ItemStates { ItemStates(fileSystem) }
    private var commands: ItemCommands { ItemCommands(fileSystem) }
    private var versions: ItemVersions { ItemVersions(fileSystem) }

    /// Related: getxattr(2).
    package func value(
        _ name: String, of inode: InodeNumber, by caller: Caller
    ) throws(FileError) -> Answer<[UInt8]> {
        switch ControlAttribute.named(name) {
        case .ordinary:
            guard name.hasBytePrefix("user.") else { throw FileError(.noAttribute, name) }
            try Self.checkNotEmpty(name)
            return .ready(try replica.look { try $0.xattr(name, of: inode) })
        case .unknown:
            throw FileError(.noAttribute, name)
        case .openVFS(let attribute):
            guard let value = attribute.value(of: try states.itemStatus(of: inode)) else {
                throw FileError(.noAttribute, name)
            }
            return .ready(value)
        case .control(let attribute, let isRaw):
            try checkMayUse(name, of: inode, caller)
            if attribute == ItemAttributes.table.preview { return try ItemPreviews(fileSystem).bytes(of: inode) }
            guard let value = try text(of: attribute, isRaw: isRaw, inode: inode) else {
                throw FileError(.noAttribute, name)
            }
            return .ready(Array(value.utf8))
        }
    }

    /// The kernel lets the bare prefix through to a FUSE mount; ext4 refuses it in every call.
    private static func checkNotEmpty(_ name: String) throws(FileError) {
        if name.utf8.count == "user.".utf8.count { throw FileError(.invalid, "an attribute needs a name after user.") }
    }

    /// Only stored attributes: `cp -a`, `rsync -X` and `tar --xattrs` never copy the sync state. Related: listxattr(2).
    package func names(of inode: InodeNumber) throws(FileError) -> [String] {
        try replica.look { try $0.xattrNames(of: inode) }
    }

    /// Related: setxattr(2).
    package func set(
        _ name: String, value: [UInt8], mode: XattrMode, of inode: InodeNumber, by caller: Caller
    ) throws(FileError) -> Answer<Void> {
        switch ControlAttribute.named(name) {
        case .ordinary:
            guard name.hasBytePrefix("user.") else { throw FileError(.unsupported, "\(name) cannot be stored") }
            try Self.checkNotEmpty(name)
            try fileSystem.admitChange()
            try replica.change { transaction in
                try transaction.setXattr(name, value, of: inode, mode: mode)
                try transaction.note(caller.request, made: inode)
            }
            changed(inode, by: caller)
            return .ready(())
        case .unknown:
            throw FileError(.unsupported, "there is no attribute \(name)")
        case .openVFS:
            throw FileError(.denied, "\(name) is read-only")
        case .control(let attribute, _):
            try checkMayUse(name, of: inode, caller)
            guard attribute.isSettable else { throw FileError(.denied, "\(name) is read-only") }
            if mode == .create { throw FileError(.attributeExists, name) }
            // A caller that may write a file may download it: the kernel has checked that, or the owner's spelling is
            // used.
            if attribute != ItemAttributes.table.download { try checkOwner(of: inode, caller) }
            if attribute == ItemAttributes.table.preview {
                try ItemPreviews(fileSystem).set(value, of: inode)
                return .ready(())
            }
            return try setControl(attribute, value: value, inode: inode)
        }
    }

    /// Related: removexattr(2). Removing an error clears it and retries the operation.
    package func remove(
        _ name: String, of inode: InodeNumber, by caller: Caller
    ) throws(FileError) -> Answer<Void> {
        switch ControlAttribute.named(name) {
        // One of OpenVFS may have been stored by an earlier version.
        case .ordinary, .openVFS:
            guard name.hasBytePrefix("user.") else { throw FileError(.noAttribute, name) }
            try Self.checkNotEmpty(name)
            try replica.change { transaction in
                try transaction.removeXattr(name, of: inode)
                try transaction.note(caller.request, made: inode)
            }
            changed(inode, by: caller)
            return .ready(())
        case .unknown:
            throw FileError(.noAttribute, name)
        case .control(ItemAttributes.table.downloadingError, _):
            try checkOwner(of: inode, caller)
            guard try text(of: ItemAttributes.table.downloadingError, isRaw: false, inode: inode) != nil else {
                throw FileError(.noAttribute, name)
            }
            try replica.change { try $0.setError(nil, of: inode) }
            downloads.enqueue(inode)
            return .ready(())
        case .control(ItemAttributes.table.uploadingError, _):
            try checkOwner(of: inode, caller)
            guard try text(of: ItemAttributes.table.uploadingError, isRaw: false, inode: inode) != nil else {
                throw FileError(.noAttribute, name)
            }
            syncEngine.uploader.retry(try replica.read { try $0.entries(of: inode).first?.item })
            return .ready(())
        case .control(ItemAttributes.table.pinned, _):
            try checkOwner(of: inode, caller)
            try replica.change { try $0.setPinned(nil, of: inode) }
            return .ready(())
        case .control(ItemAttributes.table.preview, _):
            try checkOwner(of: inode, caller)
            try ItemPreviews(fileSystem).set(nil, of: inode)
            return .ready(())
        case .control(let attribute, _):
            guard let rule = DirectoryRule(attribute) else {
                throw FileError(.denied, "\(attribute) cannot be removed")
            }
            try checkOwner(of: inode, caller)
            try fileSystem.setRule(rule, DirectoryRule.Limit?.none, of: inode)
            return .ready(())
        }
    }

    private func changed(_ inode: InodeNumber, by caller: Caller) {
        fileSystem.activity.noteLocalChange()
        fileSystem.events.changed(inode, by: .program(caller))
    }

    /// Checks that the caller is the owner if the name's prefix is the one that the kernel does not check.
    private func checkMayUse(_ name: String, of inode: InodeNumber, _ caller: Caller) throws(FileError) {
        if name.hasBytePrefix(ControlAttribute.ownersPrefix) { try checkOwner(of: inode, caller) }
    }

    private func checkOwner(of inode: InodeNumber, _ caller: Caller) throws(FileError) {
        let owner = try replica.read { try $0.attributes(of: inode).owner }
        guard caller.user == 0 || caller.user == owner else {
            throw FileError(.notPermitted, "only the owner may do this")
        }
    }

    // MARK: Setting

    private func setControl(
        _ attribute: ItemAttribute, value: [UInt8], inode: InodeNumber
    ) throws(FileError) -> Answer<Void> {
        let table = ItemAttributes.table
        if let rule = DirectoryRule(attribute) {
            try fileSystem.setRule(rule, String(decoding: value, as: UTF8.self), of: inode)
            return .ready(())
        }
        switch (attribute, String(decoding: value, as: UTF8.self)) {
        case (table.download, "1"):
            try commands.request(inode, because: .attribute)
            return .ready(())
        case (table.download, "0"):
            try commands.cancelDownload(inode)
            return .ready(())
        case (table.download, "wait"):
            return .pending { [self] () async throws(FileError) in
                try await commands.download(inode, because: .attribute)
            }
        case (table.evict, "1"):
            // The eviction asks the store first, and so must not run on a FUSE thread.
            return .pending { [self] () async throws(FileError) in
                var eviction = fileSystem.eviction()
                try await eviction.evict(inode)
            }
        case (table.pinned, "1"):
            try commands.setPinned(inode, true)
            return .ready(())
        case (table.pinned, "0"):
            try commands.setPinned(inode, false)
            return .ready(())
        case (table.syncPaused, "1"):
            try commands.setPaused(inode, true)
            return .ready(())
        case (table.syncPaused, "0"):
            try commands.setPaused(inode, false)
            return .ready(())
        case (table.isExcludedFromSync, "1"):
            // The bytes may have to be downloaded first.
            return .pending { [self] () async throws(FileError) in try await commands.exclude(inode) }
        case (table.isExcludedFromSync, "0"):
            try commands.include(inode)
            return .ready(())
        case (table.resolve, let choice) where !choice.isEmpty:
            // May fetch a chunk list first.
            return .pending { [self] () async throws(FileError) in
                try await versions.resolve(inode, keep: VersionChoice(choice))
            }
        default:
            throw FileError(.invalid, "invalid value for \(attribute)")
        }
    }

    // MARK: Reading

    private func text(
        of attribute: ItemAttribute, isRaw: Bool, inode: InodeNumber
    ) throws(FileError) -> String? {
        let identity = syncEngine.container.identity
        let table = ItemAttributes.table
        switch attribute {
        case table.containerDisplayName: return identity.settings.name
        case table.containerIdentifier: return identity.id.description
        case table.scope:
            let directory = try directory(of: inode)
            return try replica.read { try $0.depthBelowDocuments(of: directory) } == nil ? "data" : "documents"
        case table.isShared: return "0"
        case table.quotaTotal: return inode == .root ? replica.quota.map { String($0.byteCount) } : nil
        case table.quotaUsed: return try inode == .root ? String(replica.read { try $0.usedByteCount() }) : nil
        case table.claims:
            guard let node = try fileSystem.locks(on: inode).first else { return nil }
            return try json(node)
        case table.versions:
            return try replica.read { try $0.attributes(of: inode).kind } == .file
                ? try json(versions.versions(of: inode)) : nil
        case table.resolve: return nil
        case table.name, table.contentType:
            let (name, kind) = try replica.read { rows in
                (try rows.entries(of: inode).first?.name, try rows.attributes(of: inode).kind)
            }
            if attribute == table.name { return name?.string ?? identity.settings.name }
            return ContentType.identifier(kind: kind, name: name)
        case table.status: return try json(states.itemStatus(of: inode))
        case table.evictAfter, table.keepRecent, table.downloadSmall:
            guard let rule = DirectoryRule(attribute) else { return nil }
            return rule.text(try fileSystem.rules(for: inode)[rule]?.limit ?? .off)
        default:
            let item = ItemAttribute.Item(try states.itemStatus(of: inode), mountpoint: fileSystem.location.mountpoint)
            {
                identity.settings.name
            }
            return attribute.value(of: item)?.text(isRaw: isRaw)
        }
    }

    private func directory(of inode: InodeNumber) throws(FileError) -> InodeNumber {
        try replica.read { rows in
            try rows.attributes(of: inode).kind == .directory ? inode : rows.entries(of: inode).first?.parent ?? .root
        }
    }

    private func json(_ status: some Encodable) throws(FileError) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(status), as: UTF8.self)
        } catch {
            throw FileError(.inputOutput, "the status cannot be written: \(error)", cause: error)
        }
    }
}

import Coordination
import Remote
import Logging
import Foundation
package import Model
import Replica
import Sync
import Linux

/// Names: every operation here is answered by the replica at once and wakes the uploader.
extension FileSystem {
    package func lookup(_ name: ItemName, in parent: InodeNumber) throws(FileError) -> Attributes {
        syncEngine.follower.use.note()
        let moment = files.open.recordingCount
        if let previewed = try previewed(name, in: parent) { return previewed }
        return try current(try replica.look { try $0.lookup(name, in: parent) }, since: moment)
    }

    package func attributes(of inode: InodeNumber) throws(FileError) -> Attributes {
        syncEngine.follower.use.note()
        if let previewed = replica.preview?.attributes(of: inode) { return previewed }
        return try current(of: inode)
    }

    /// The result of `stat(2)`: the index's attributes, updated by later writes to an open file.
    ///
    /// The kernel keeps the answer for an hour, so it must not be older than the request. Writes not yet recorded in
    /// the index are therefore collected before the index is read: those recorded in between are then taken from the
    /// file itself.
    package func current(of number: InodeNumber) throws(FileError) -> Attributes {
        let open = files.open.inode(number)
        let unrecorded = open?.unrecordedDescriptor
        var attributes = try replica.look { try $0.attributes(of: number) }
        // If the file cannot be queried, the index's answer stands, which was true at the last close or fsync.
        guard attributes.kind == .file, let open, let status = try? unrecorded?.status() else { return attributes }
        attributes.isVolatile = open.isVolatile
        guard status.size != attributes.size || status.modified != attributes.modified else { return attributes }
        attributes.size = status.size
        attributes.blocks = max(status.blocks, status.size > 0 ? 1 : 0)
        attributes.modified = status.modified
        attributes.localModified = nil
        // Not the disk's own ctime, which changes when we move the file: only a change of the bytes counts for the
        // item.
        attributes.changed = max(status.modified, attributes.changed)
        return attributes
    }

    /// The same for attributes read from the index after a moment of ``OpenFiles/recordingCount``.
    func current(_ attributes: Attributes, since moment: UInt64) throws(FileError) -> Attributes {
        guard attributes.kind == .file, !files.open.isCurrent(attributes.inode, since: moment) else {
            return attributes
        }
        return try current(of: attributes.inode)
    }

    package func setAttributes(
        of inode: InodeNumber, _ change: AttributeChange, by caller: Caller
    ) throws(FileError) -> Attributes {
        if let open = files.open.inode(inode) { try recordBytes(of: open) }
        let isMapped = files.mayBeMapped(inode)
        let attributes = try replica.change { try $0.setAttributes(of: inode, change, isMapped: isMapped) }
        activity.noteLocalChange()
        coordination.events.changed(inode, by: .program(caller))
        return files.open.inode(inode) == nil ? attributes : try current(of: inode)
    }

    package func readLink(_ inode: InodeNumber) throws(FileError) -> String {
        guard let target = try replica.look({ try $0.inode(inode).target?.string }) else {
            throw FileError(.invalid, "\(inode) is not a symbolic link")
        }
        return target
    }

    /// Creates an item of the caller's. Related: `mkdir(2)`, `symlink(2)`, `mknod(2)`.
    package func make(
        _ new: NewItem, as name: ItemName, in parent: InodeNumber, by caller: Caller
    ) throws(FileError) -> Attributes {
        if new.kind == .directory { try checkFolderLevels(in: parent) }
        try cache.freeSpaceFloor.admitChange()
        let attributes = try replica.change { transaction in
            let made = try transaction.make(new.owned(by: caller), as: name, in: parent)
            try transaction.note(caller.request, made: made.inode)
            return made
        }
        appeared(name, in: parent, by: caller)
        return attributes
    }

    /// A name was created.
    func appeared(_ name: ItemName, in parent: InodeNumber, by caller: Caller) {
        activity.noteLocalChange()
        // Already removed again: the removal publishes its own event.
        guard coordination.events.hasObservers, let item = try? locking.places.item(name, in: parent), item.inode != nil
        else { return }
        coordination.events.appeared(item, by: .program(caller))
    }

    /// Checks the depth limit that the container sets for directories below `Documents`.
    private func checkFolderLevels(in parent: InodeNumber, adding levels: Int = 1) throws(FileError) {
        guard let limit = syncEngine.container.identity.settings.folderLevels.limit,
            let depth = try replica.look({ try $0.depthBelowDocuments(of: parent) })
        else { return }
        guard depth + levels <= limit else {
            throw FileError(
                .notPermitted,
                limit == 0
                    ? "this container allows no directories below Documents"
                    : "this container allows \(limit) level of directories below Documents")
        }
    }

    package func link(
        _ inode: InodeNumber, as name: ItemName, in parent: InodeNumber, by caller: Caller
    ) throws(FileError) -> Attributes {
        try cache.freeSpaceFloor.admitChange()
        if let open = files.open.inode(inode) { try recordBytes(of: open) }
        let isNameless = files.orphans.isNameless(inode)
        try replica.change { transaction in
            _ = try transaction.link(inode, in: parent, as: name, isNameless: isNameless)
            try transaction.note(caller.request, made: inode)
        }
        if isNameless { files.orphans.gotName(inode) }
        appeared(name, in: parent, by: caller)
        return try current(of: inode)
    }

    package func removeFile(
        _ name: ItemName, in parent: InodeNumber, by caller: Caller
    ) throws(FileError) -> Answer<Void> {
        try locking.names.perform([(name, parent)], by: caller) { [self] () throws(FileError) in
            let place = coordination.events.hasObservers ? try locking.places.item(name, in: parent) : nil
            let removed = try replica.change(freeing: true) { transaction in
                let removed = try transaction.removeFile(name, in: parent)
                try transaction.note(caller.request, made: removed.inode)
                return removed
            }
            activity.noteLocalChange()
            if removed.linkCount == 0 { lostItsName(removed.inode) }
            if let place { coordination.events.deleted(place, by: .program(caller)) }
        }
    }

    package func removeDirectory(
        _ name: ItemName, in parent: InodeNumber, by caller: Caller
    ) throws(FileError) -> Answer<Void> {
        try locking.names.perform([(name, parent)], by: caller) { [self] () throws(FileError) in
            let place = coordination.events.hasObservers ? try locking.places.item(name, in: parent) : nil
            let removed = try replica.change(freeing: true) { transaction in
                let removed = try transaction.removeDirectory(name, in: parent)
                try transaction.note(caller.request, made: removed.inode)
                return removed
            }
            files.orphans.insert(removed.inode)
            activity.noteLocalChange()
            if let place { coordination.events.deleted(place, by: .program(caller)) }
        }
    }

    package func rename(
        _ name: ItemName, in parent: InodeNumber, to newName: ItemName, in newParent: InodeNumber, mode: RenameMode,
        by caller: Caller
    ) throws(FileError) -> Answer<Void> {
        try locking.names.perform([(name, parent), (newName, newParent)], by: caller) { [self] () throws(FileError) in
            try move(name, in: parent, to: newName, in: newParent, mode: mode, by: caller)
        }
    }

    private func move(
        _ name: ItemName, in parent: InodeNumber, to newName: ItemName, in newParent: InodeNumber, mode: RenameMode,
        by caller: Caller
    ) throws(FileError) {
        if parent != newParent, syncEngine.container.identity.settings.folderLevels.limit != nil {
            let moved = try replica.look { try $0.lookup(name, in: parent) }
            if moved.kind == .directory {
                try checkFolderLevels(
                    in: newParent, adding: try replica.look { try $0.directoryLevels(of: moved.inode) })
            }
        }
        // A temporary file renamed over another is that file's new state: the index must know its size and times now.
        if let moved = try? replica.look({ try $0.lookup(name, in: parent) }) {
            let open = files.open.inode(moved.inode)
            if let open { try recordBytes(of: open) }
            if mode == .replace { try secureReplacement(moved, open, of: newName, in: newParent) }
        }
        let places =
            coordination.events.hasObservers
            ? (try locking.places.item(name, in: parent), try locking.places.item(newName, in: newParent)) : nil
        let renamed = try replica.change { transaction in
            let renamed = try transaction.rename(name, in: parent, to: newName, in: newParent, mode: mode)
            try transaction.note(caller.request, made: renamed.moved)
            return renamed
        }
        activity.noteLocalChange()
        for number in renamed.requestedDownloads { reading.downloads.enqueue(number) }
        noteDeparture(renamed)
        if let replaced = renamed.replaced {
            if replaced.kind == .directory {
                files.orphans.insert(replaced.inode)
            } else if replaced.linkCount == 0 {
                lostItsName(replaced.inode)
            }
        }
        if let places { publish(renamed, from: places.0, over: places.1, by: .program(caller)) }
    }

    /// Syncs the bytes of a file before they replace another's: many programs save this way without `fsync`, and after
    /// a power failure either the old or the new bytes must be there. Related: ext4(5), `auto_da_alloc`.
    private func secureReplacement(
        _ moved: Attributes, _ open: OpenInode?, of name: ItemName, in parent: InodeNumber
    ) throws(FileError) {
        guard moved.kind == .file, moved.size > 0,
            let replaced = try? replica.look({ try $0.lookup(name, in: parent) }),
            replaced.kind == .file, replaced.inode != moved.inode
        else { return }
        let bytes = if let descriptor = open?.descriptor { descriptor } else { try localBytes(moved.inode) }
        try bytes?.synchronize(bytesOnly: true)
    }

    private func publish(_ renamed: Renamed, from: ClaimItem, over: ClaimItem, by origin: ItemEvents.Origin) {
        // Already moved again: that move publishes its own event.
        guard let now = try? locking.places.item(renamed.moved), now.name != nil else { return }
        if renamed.exchanged != nil {
            guard let other = try? locking.places.item(over.inode ?? renamed.moved) else { return }
            coordination.events.moved(from, to: now, replacing: nil, by: origin)
            coordination.events.moved(over, to: other, replacing: nil, by: origin)
        } else if from.inode != over.inode {
            // Two names of the same file: the rename does nothing.
            coordination.events.moved(from, to: now, replacing: renamed.replaced?.inode, by: origin)
        } else if from.name != over.name || from.parent != over.parent {
            coordination.events.moved(from, to: now, replacing: nil, by: origin)
        }
    }

    private func lostItsName(_ inode: InodeNumber) {
        files.orphans.insert(inode)
        reading.downloads.active(inode)?.cancelUnlessOpen(files.open)
    }

    package func parent(of directory: InodeNumber) throws(FileError) -> InodeNumber {
        try replica.look { try $0.parent(of: directory) }
    }
}

extension Download {
    /// Cancels the download of a file that has no name and is not open: its bytes are no longer needed.
    func cancelUnlessOpen(_ openFiles: OpenFiles) {
        if openFiles.inode(inode) == nil { cancel() }
    }
}

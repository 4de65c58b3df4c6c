import Logging
package import Model
import Replica
import Sync
import Linux
import Synchronization

/// Going on with what the daemon before, which was killed, had given to the kernel and to programs.
extension FileSystem {
    /// What the kernel has of a backing file that it reads itself.
    package struct HeldBacking: Sendable {
        package let inode: InodeNumber
        package let number: Int32
    }

    /// Takes over the open files from the slots. Called once, before the first request.
    ///
    /// - Returns: The backing files that handles hold open for the kernel, one for each handle.
    package func restore() throws(FileError) -> [HeldBacking] {
        guard let slots, slots.isAdopted else { return [] }
        files.orphans.references.resume(through: try replica.read { try $0.lastInode() })
        files.mapped.noteEarlierPassThrough()
        abilities.withLock { $0.hasPassedThrough = true }
        var backings: [HeldBacking] = []
        var nameless: Set<InodeNumber> = []
        for (slot, record) in slots.records {
            guard let inode = try inode(of: record) else {
                // The file was being created, and was not.
                slots.remove(slot)
                continue
            }
            try restore(record, slot, inode)
            if record.isNameless { nameless.insert(record.inode) }
            if record.backing > 0 { backings.append(HeldBacking(inode: record.inode, number: record.backing)) }
        }
        locking.manager.restoreLocks()
        claims.restore()
        for number in try replica.read({ try $0.namelessInodes() }) {
            if nameless.contains(number) { files.orphans.insertNameless(number) } else { files.orphans.insert(number) }
        }
        if slots.isIncomplete {
            logger.warning(
                "more files were open, or locks or claims held, than are kept for the next daemon; programs lose some")
        }
        return backings
    }

    private func inode(of record: HandleSlots.Record) throws(FileError) -> Inode? {
        do throws(FileError) {
            return try replica.read { try $0.inode(record.inode) }
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    private func restore(
        _ record: HandleSlots.Record, _ slot: HandleSlots.Slot, _ inode: Inode
    ) throws(FileError) {
        let descriptor =
            if files.open.inode(record.inode) == nil, inode.isLocal {
                try localBytes(record.inode)
            } else { nil as Descriptor? }
        let handle = files.open.restore(record, slot) {
            OpenInode(
                number: record.inode, descriptor: descriptor, access: record.access, opener: record.caller)
        }
        let process = ProcessTable.process(ofThread: record.caller.thread)
        handle.note(process: process, ofThread: record.caller.thread)
        handle.restoreLockOwners()
        let request = OpenRequest(inode: record.inode, flags: record.flags, caller: record.caller)
        guard request.isWriting else { return }
        // A program that has the file open for writing may go on writing.
        try locking.manager.admit(
            record.inode, by: LockManager.writer(handle, process: process), isRewriting: request.isRewriting)
    }

    /// Deletes the files without a name that neither the kernel nor a program uses any more, or asks the kernel for them.
    /// Called once requests are answered again: those that come again may use them.
    package func settleNameless() throws(FileError) {
        for number in try replica.read({ try $0.namelessInodes() }) { forgetIfOrphan(number) }
    }

    /// Nothing that the kernel has cached is known to be current.
    package func everythingChanged() {
        files.kernel.everythingChanged()
        for open in files.open.openInodes { files.kernel.inodeChanged(open.number, bytes: open.access != .passthrough) }
    }

    /// All directories.
    package func directories() throws(FileError) -> [InodeNumber] {
        try replica.read { try $0.directories() }
    }

    // MARK: Requests that come again

    /// What a request has made or changed that the daemon before carried out and did not answer; `nil` when it did not.
    package func inode(madeBy request: RequestNumber) throws(FileError) -> InodeNumber? {
        guard request.isRepeated else { return nil }
        return try replica.look { try $0.inode(madeBy: request) }
    }

    /// Ends the handles that a request of the daemon before had opened: the kernel has none of them. Called when the request
    /// has another one.
    ///
    /// - Parameter releaseBacking: Called for each of them that holds a backing file open for the kernel.
    package func releaseUnanswered(
        _ request: RequestNumber, except id: HandleID, by caller: Caller, releaseBacking: (InodeNumber) -> Void
    ) {
        for handle in files.open.handles(openedBy: request) where handle.id != id {
            if let slot = handle.slot, let slots, slots.backing(in: slot) > 0 {
                slots.note(backing: 0, in: slot)
                releaseBacking(handle.inode.number)
            }
            release(handle.id, flockOwner: nil, by: caller)
        }
    }

    /// Keeps the number of the backing file that a handle holds open for the kernel.
    package func note(backing: Int32, of handle: HandleID) { files.open.note(backing: backing, of: handle) }

    /// Whether a handle that is being closed holds a backing file open for the kernel, which it does no longer: not if the
    /// daemon before has closed it, and the close comes again.
    package func takeBacking(of id: HandleID) -> Bool {
        guard let slots else { return true }
        guard let handle = try? files.open.handle(id) else { return false }
        // One that found no room is no earlier daemon's.
        guard let slot = handle.slot else { return true }
        guard slots.backing(in: slot) > 0 else { return false }
        slots.note(backing: 0, in: slot)
        return true
    }

    /// Opens the file that a repeated request has created.
    ///
    /// - Parameter isNameless: Whether the request creates a file without a name. The daemon before may have been killed before
    ///   it noted that of the handle.
    package func openCreated(
        _ number: InodeNumber, isNameless: Bool, flags: Int32, by caller: Caller
    ) throws(FileError) -> (Attributes, OpenedFile) {
        if isNameless { files.orphans.insertNameless(number) }
        let request = OpenRequest(inode: number, flags: flags, caller: caller)
        let opened = try openRepeated(request)
        if isNameless { files.open.noteNameless(opened.handle) }
        return (try current(of: number), opened)
    }
}

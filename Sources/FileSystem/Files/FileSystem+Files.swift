import Coordination
import Logging
package import Model
import Replica
import Sync
import Linux

/// The end of open files: release, close, fsync.
extension FileSystem {
    /// Ends a handle. The result of its writes is recorded.
    package func release(_ id: HandleID, flockOwner: UInt64?, by caller: Caller) {
        guard let handle = try? files.open.handle(id) else {
            // Released twice: the kernel never does that.
            return
        }
        do throws(FileError) {
            // A mapping passed through by the kernel may have changed the file: the disk has the changes, the index and
            // the kernel do not.
            if handle.isWritable { try handle.inode.noticeMappedWrites() }
            if try recordBytes(of: handle.inode, by: caller), handle.isWritable, handle.inode.access == .passthrough {
                files.kernel.inodeChanged(handle.inode.number, bytes: false)
            }
        } catch {
            logger.error(
                "failed to record the size of a file",
                metadata: ["inode": "\(handle.inode.number)", "error": "\(error)"])
        }
        if flockOwner != nil {
            locking.manager.perform { table, now in
                table.unlockFlock(handle: OpenHandleID(handle.id.rawValue), on: handle.inode.number, now: now)
            }
        }
        for owner in handle.lockOwners { releaseRecordLocks(of: owner, on: handle) }
        locking.manager.handleClosed(handle.inode.number, id)
        // Before it counts as closed.
        if handle.isMappableForWriting { files.mapped.noteClose(of: handle.inode) }
        let isLast = files.open.remove(handle)
        // Reads passed through by the kernel were not seen: the last one was before now.
        cache.evictor.noteUse(of: handle.inode.number)
        if isLast { cache.evictor.noteLastClose(wasWritable: handle.isWritable) }
        if handle.isWritable { activity.noteLocalChange() }
        guard isLast else { return }
        forgetIfOrphan(handle.inode.number)
    }

    /// Removes the bytes of an inode without names that nothing uses any more: neither a handle nor the kernel.
    func forgetIfOrphan(_ inode: InodeNumber) {
        do throws(FileError) {
            if files.orphans.takeUnused(inode) { try replica.change(freeing: true) { try $0.forget(inode) } }
        } catch {
            logger.error(
                "failed to remove an unlinked file; the next mount removes it",
                metadata: ["inode": "\(inode)", "error": "\(error)"])
        }
    }

    /// Records in the index the size and times that writes gave a file.
    ///
    /// - Parameter caller: The writer, where it is known.
    /// - Returns: Whether there was anything to record.
    @discardableResult
    package func recordBytes(of open: OpenInode, by caller: Caller? = nil) throws(FileError) -> Bool {
        guard let (descriptor, change) = open.unrecorded else { return false }
        let before = coordination.events.hasObservers ? try replica.look { try $0.attributes(of: open.number) } : nil
        open.noteRecorded(try replica.change { try $0.recordBytes(of: open.number, from: descriptor) }, change: change)
        files.open.noteRecording(of: open.number)
        guard let before else { return true }
        let now = try replica.look { try $0.attributes(of: open.number) }
        if now.size != before.size || now.modified != before.modified {
            coordination.events.changed(open.number, by: caller.map { .program($0) } ?? .engine)
        }
        return true
    }

    /// Records in the index what was written to a file through mappings that the kernel passed to the backing file,
    /// whether it is open or closed.
    ///
    /// - Parameter caller: The writer, where it is known.
    package func recordStores(into number: InodeNumber, by caller: Caller? = nil) throws(FileError) {
        if let open = files.open.inode(number), open.isVolatile {
            do throws(FileError) {
                try open.noticeMappedWrites()
                if try recordBytes(of: open, by: caller) { activity.noteLocalChange() }
            } catch {
                // Removed since.
                guard error.code == .notFound else { throw error }
            }
        }
        try files.recordMappedBytes(of: number)
    }

    /// Related: close(2). It never waits: a process that is exiting could not be killed.
    package func flush(_ id: HandleID, lockOwner: UInt64, by caller: Caller) throws(FileError) {
        let handle = try files.open.handle(id)
        handle.noteFlush()
        // On any failure too: a closed file holds no locks.
        defer { releaseRecordLocks(of: lockOwner, on: handle) }
        guard handle.isWritable else { return }
        try handle.inode.noticeMappedWrites()
        if try recordBytes(of: handle.inode, by: caller), handle.inode.access == .passthrough {
            // By the end of close(2), programs see the times of stores into a mapping.
            files.kernel.attributesChangedNow(handle.inode.number)
        }
        activity.noteLocalChange()
    }

    private func releaseRecordLocks(of owner: UInt64, on handle: OpenHandle) {
        locking.manager.perform { table, now in
            table.releaseRecords(of: LockOwner(owner), on: handle.inode.number, now: now)
        }
        // Last: a request refused because of the lock until now can tell by it that the release is under way.
        handle.forgetLockOwner(owner)
    }

    /// Makes the bytes, the name and the index durable on this disk. Related: fsync(2).
    ///
    /// - Parameter bytesOnly: The times need not be durable. Then a sync of the bytes is enough where the index on disk
    ///   has their size and counts them as changed: databases need that at each commit. Related: fdatasync(2).
    package func sync(_ id: HandleID, bytesOnly: Bool = false, by caller: Caller) throws(FileError) {
        let inode = try files.open.handle(id).inode
        if let descriptor = inode.descriptor {
            try descriptor.synchronize(bytesOnly: bytesOnly)
            if bytesOnly, inode.isDurable(size: try descriptor.status().size) { return }
        }
        try recordStores(into: inode.number, by: caller)
        try recordBytes(of: inode, by: caller)
        let recorded = inode.recordedBytes
        try replica.makeDurable()
        if let recorded { inode.noteDurable(recorded) }
    }

    /// Makes the names in a directory durable on this disk, removals included. Related: fsync(2) of a directory.
    package func syncDirectory(_ inode: InodeNumber) throws(FileError) {
        try replica.makeDurable(namesIn: inode)
    }

    /// The space for files: that of the disk that holds the state, and of the container's quota.
    package func statistics() throws(FileError) -> FileSystemStatistics {
        var statistics = try FileSystemStatistics(ofDiskUnder: location.state)
        // The reserve for the index is not available to files.
        let reserve = UInt(FreeSpaceFloor.reserve(of: statistics)) / max(statistics.fragmentSize, 1)
        statistics.freeBlocks -= min(reserve, statistics.freeBlocks)
        statistics.availableBlocks -= min(reserve, statistics.availableBlocks)
        if let quota = replica.quota { statistics.limit(to: quota, used: try replica.read { try $0.usedByteCount() }) }
        return statistics
    }
}

import Logging
import Coordination
import Glibc
package import Model
package import Replica

/// What an open file is to the kernel.
package enum OpenAccess: Sendable {
    /// Through the page cache, which stays from one open to the next.
    case cached
    /// Past the page cache: every read and write comes to the engine.
    case direct
    /// The kernel reads and maps the backing file itself; with `alsoDirect`, read(2) and write(2) still come to the engine.
    case passthrough(descriptor: Descriptor, alsoDirect: Bool)
}

package struct OpenedFile: Sendable {
    package let handle: HandleID
    package let access: OpenAccess
}

package struct OpenRequest: Sendable {
    package let inode: InodeNumber
    /// The flags of `open(2)`.
    package let flags: Int32
    package let caller: Caller

    package init(inode: InodeNumber, flags: Int32, caller: Caller) {
        self.inode = inode
        self.flags = flags
        self.caller = caller
    }
}

extension Engine {
    /// Related: open(2) with `O_CREAT`.
    package func create(
        _ name: ItemName, in parent: InodeNumber, mode: UInt16, flags: Int32, by caller: Caller
    ) throws(FileError) -> (Attributes, OpenedFile) {
        let (attributes, descriptor) = try replica.createFile(
            name, in: parent, mode: mode, owner: caller.user, group: caller.group)
        let handle = openFiles.add(attributes.inode, flags: flags) {
            OpenInode(
                number: attributes.inode, descriptor: descriptor, access: accessForBytesHere, isMarked: true)
        }
        // Sent once it is closed or quiet, so that others do not see it empty first.
        handle.inode.noteActivity(at: environment.uptime())
        appeared(name, in: parent, by: caller)
        return (attributes, OpenedFile(handle: handle.id, access: openAccess(handle)))
    }

    /// Opens a file. Nothing is downloaded yet, and truncation to nothing never downloads.
    package func open(_ request: OpenRequest) throws(FileError) -> Answer<OpenedFile> {
        follower.use.note()
        let inode = try replica.inode(request.inode)
        guard inode.attributes.kind == .file else {
            throw FileError(
                inode.attributes.kind == .directory ? .isDirectory : .invalid, "\(request.inode) is not a file")
        }
        let descriptor = inode.isHere && openFiles.inode(request.inode) == nil ? try bytesHere(request.inode) : nil
        let handle = openFiles.add(request.inode, flags: request.flags) {
            OpenInode(
                number: request.inode, descriptor: descriptor,
                access: descriptor == nil ? .direct : accessForBytesHere)
        }
        let opened = OpenedFile(handle: handle.id, access: openAccess(handle))
        cacheKeeper.noteUse(of: request.inode)
        if handle.inode.isVolatile { kernel.inodeChanged(request.inode, bytes: false) }
        guard request.flags & O_TRUNC != 0, handle.isWritable else { return .ready(opened) }
        do throws(FileError) {
            let truncation = try truncateAtOpen(handle, by: request.caller)
            switch truncation {
            case .ready: return .ready(opened)
            case .pending(let wait):
                return .pending { [self] () async throws(FileError) in
                    do throws(FileError) {
                        try await wait()
                    } catch {
                        release(opened.handle, flockOwner: nil, by: request.caller)
                        throw error
                    }
                    return opened
                }
            }
        } catch {
            release(opened.handle, flockOwner: nil, by: request.caller)
            throw error
        }
    }

    /// The backing file of an inode that is here; `nil` when somebody removed it behind our back and the container has it.
    private func bytesHere(_ number: InodeNumber) throws(FileError) -> Descriptor? {
        do throws(FileError) {
            return try replica.openBytes(of: number)
        } catch {
            guard error.code == .notFound else { throw error }
            try replica.bytesAreMissing(number)
            logger.warning(
                "the bytes of a file were removed from the backing directory: they come again when it is read",
                metadata: ["inode": "\(number)"])
            return nil
        }
    }

    private var accessForBytesHere: OpenInode.Access {
        mountAbilities.passthrough ? .passthrough : .cached
    }

    /// How this open goes, by the mode that the inode got at its first open. Writers go past the page cache, so that every write
    /// meets the lock table on its own.
    private func openAccess(_ handle: OpenHandle) -> OpenAccess {
        switch handle.inode.access {
        case .direct: .direct
        case .cached: handle.isWritable && mountAbilities.directMapping ? .direct : .cached
        case .passthrough:
            if let descriptor = handle.inode.readable {
                .passthrough(
                    descriptor: descriptor, alsoDirect: handle.isWritable || handle.inode.descriptor == nil)
            } else {
                .direct
            }
        }
    }

    /// The last of a handle. What its writes made is recorded.
    package func release(_ id: HandleID, flockOwner: UInt64?, by caller: Caller) {
        guard let handle = try? openFiles.handle(id) else {
            // Released twice: the kernel never does.
            return
        }
        do throws(FileError) {
            // A mapping that the kernel passed through may have written past us: the disk knows, the index and the kernel do not.
            if handle.isWritable { try handle.inode.noticeMappedWrites() }
            if try recordBytes(of: handle.inode, by: caller), handle.isWritable, handle.inode.access == .passthrough {
                kernel.inodeChanged(handle.inode.number, bytes: false)
            }
        } catch {
            logger.error(
                "the size of a file was not recorded",
                metadata: ["inode": "\(handle.inode.number)", "error": "\(error)"])
        }
        if flockOwner != nil {
            arbiter.perform { table, now in
                table.unlockFlock(
                    handle: OpenHandleID(handle.id.rawValue), process: .kernel, on: handle.inode.number, now: now)
            }
        }
        for owner in handle.lockOwners { releaseRecordLocks(of: owner, on: handle) }
        arbiter.handleClosed(handle)
        let isLast = openFiles.remove(handle)
        // Reads that the kernel passed through were not seen: the last was before now.
        cacheKeeper.noteUse(of: handle.inode.number)
        if isLast { cacheKeeper.noteLastClose(wasWritable: handle.isWritable) }
        if handle.isWritable { activity.noteLocalChange() }
        guard isLast else { return }
        // An inode without names lives until here.
        forgetIfOrphan(handle.inode.number)
    }

    private func forgetIfOrphan(_ inode: InodeNumber) {
        do throws(FileError) {
            if orphans.take(inode) { try replica.forget(inode) }
        } catch {
            logger.error("a file without a name was not removed", metadata: ["inode": "\(inode)", "error": "\(error)"])
        }
    }

    /// Tells the index what the writes made of a file's size and times.
    ///
    /// - Parameter caller: Whose doing it was, where that is known.
    /// - Returns: Whether there was anything to tell.
    @discardableResult
    func recordBytes(of open: OpenInode, by caller: Caller? = nil) throws(FileError) -> Bool {
        guard open.takeUnrecorded(), let descriptor = open.descriptor else { return false }
        let before = events.isHeard ? try replica.attributes(of: open.number) : nil
        open.noteRecorded(try replica.recordBytes(of: open.number, from: descriptor))
        guard let before else { return true }
        let now = try replica.attributes(of: open.number)
        if now.size != before.size || now.modified != before.modified {
            events.changed(open.number, by: caller.map { .program($0) } ?? .engine)
        }
        return true
    }

    /// Related: close(2). Waits for the turn of a writer whose writes are still to be applied.
    package func flush(_ id: HandleID, lockOwner: UInt64, by caller: Caller) throws(FileError) -> Answer<Void> {
        let handle = try openFiles.handle(id)
        handle.noteFlush()
        guard handle.isWritable else {
            releaseRecordLocks(of: lockOwner, on: handle)
            return .ready(())
        }
        let writer = Arbiter.writer(handle, process: handle.process(of: caller))
        let finish: @Sendable () throws(FileError) -> Void = { [self] () throws(FileError) in
            // Whatever fails, a closed file holds no locks.
            defer { releaseRecordLocks(of: lockOwner, on: handle) }
            try handle.inode.noticeMappedWrites()
            try recordBytes(of: handle.inode, by: caller)
            arbiter.ended(handle.inode.number, by: writer, reason: .close)
            try handle.throwFailure()
            activity.noteLocalChange()
        }
        switch try arbiter.awaitTurn(handle.inode.number, by: writer, kind: .close) {
        case .ready:
            try finish()
            return .ready(())
        case .pending(let wait):
            return .pending { [self] () async throws(FileError) in
                do throws(FileError) {
                    try await wait()
                } catch {
                    releaseRecordLocks(of: lockOwner, on: handle)
                    throw error
                }
                try finish()
            }
        }
    }

    private func releaseRecordLocks(of owner: UInt64, on handle: OpenHandle) {
        arbiter.perform { table, now in
            table.releaseRecords(of: LockOwner(owner), on: handle.inode.number, now: now)
        }
        // Last: whoever met the lock until now sees by it that the release is on its way.
        handle.forgetLockOwner(owner)
    }

    /// Safe on this disk: the bytes, the name and the index. Related: fsync(2).
    package func sync(_ id: HandleID, by caller: Caller) throws(FileError) -> Answer<Void> {
        let handle = try openFiles.handle(id)
        let writer = Arbiter.writer(handle, process: handle.process(of: caller))
        let finish: @Sendable () throws(FileError) -> Void = { [self] () throws(FileError) in
            try handle.inode.descriptor?.synchronize()
            try recordBytes(of: handle.inode, by: caller)
            try replica.makeDurable()
            arbiter.ended(handle.inode.number, by: writer, reason: .fsync)
            try handle.throwFailure()
        }
        switch try arbiter.awaitTurn(handle.inode.number, by: writer, kind: .fsync) {
        case .ready:
            try finish()
            return .ready(())
        case .pending(let wait):
            return .pending { () async throws(FileError) in
                try await wait()
                try finish()
            }
        }
    }

    package func syncDirectory(_ inode: InodeNumber) throws(FileError) {
        try replica.makeDurable()
    }

    package func statistics() throws(FileError) -> FileSystemStatistics {
        var statistics = try FileSystemStatistics(ofDiskUnder: place.state)
        // What is kept for the index is not there for files.
        let reserve = UInt(FreeSpaceFloor.reserve(of: statistics)) / max(statistics.fragmentSize, 1)
        statistics.freeBlocks -= min(reserve, statistics.freeBlocks)
        statistics.availableBlocks -= min(reserve, statistics.availableBlocks)
        return statistics
    }
}

extension OpenAccess {
    /// The file number of the backing file that the kernel is to use, if it is to use one.
    package var backingFileNumber: Int32? {
        if case .passthrough(let descriptor, _) = self { descriptor.rawValue } else { nil }
    }
}

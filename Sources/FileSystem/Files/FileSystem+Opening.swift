import Coordination
import Glibc
import Logging
package import Model
import Replica
import Sync
import Linux

package struct OpenedFile: Sendable {
    package let handle: HandleID
    package let access: OpenAccess
}

package struct OpenRequest: Sendable {
    package let inode: InodeNumber
    /// The flags of `open(2)`.
    package let flags: Int32
    package let caller: Caller

    private let isForTruncation: Bool

    package init(inode: InodeNumber, flags: Int32, caller: Caller) {
        self.inode = inode
        self.flags = flags
        self.caller = caller
        isForTruncation = false
    }

    /// An open of our own, to truncate a file by its name: it takes no turn.
    init(truncating inode: InodeNumber, caller: Caller) {
        self.inode = inode
        flags = O_RDONLY
        self.caller = caller
        isForTruncation = true
    }

    /// Whether the inode is opened for writing by it, if it is the first.
    var isFirstForWriting: Bool { isWriting || isForTruncation }

    /// Whether the open may change the bytes, now or later.
    var isWriting: Bool { flags & O_ACCMODE != O_RDONLY || flags & O_TRUNC != 0 }

    /// Whether the open takes a turn: it rewrites the file rather than changing it together with other writers.
    var isRewriting: Bool {
        flags & O_TRUNC != 0 || (flags & O_ACCMODE == O_WRONLY && flags & O_APPEND == 0)
    }

    /// Whether the open neither waits nor takes a turn: touch(1) and truncate(1) open with `O_NONBLOCK`. Claims hold
    /// its writes off.
    var isImpatient: Bool { flags & O_NONBLOCK != 0 && flags & O_TRUNC == 0 }
}

extension FileSystem {
    /// Related: open(2) with `O_CREAT`. Waits for a moment while the place is claimed, as a rename does.
    package func create(
        _ name: ItemName, in parent: InodeNumber, mode: UInt16, flags: Int32, by caller: Caller
    ) throws(FileError) -> Answer<(Attributes, OpenedFile)> {
        try locking.names.perform([(name, parent)], by: caller) { [self] () throws(FileError) in
            try createNow(name, in: parent, mode: mode, flags: flags, by: caller)
        }
    }

    private func createNow(
        _ name: ItemName, in parent: InodeNumber, mode: UInt16, flags: Int32, by caller: Caller
    ) throws(FileError) -> (Attributes, OpenedFile) {
        try create(mode: mode, flags: flags, by: caller) { [self] new, opening throws(FileError) in
            try replica.createFile(new, as: name, in: parent, opening: opening, request: caller.request).0
        } then: { [self] _ in
            appeared(name, in: parent, by: caller)
        }
    }

    /// Creates a file without a name. Related: open(2) with `O_TMPFILE`.
    package func createNameless(
        in parent: InodeNumber, mode: UInt16, flags: Int32, by caller: Caller
    ) throws(FileError) -> (Attributes, OpenedFile) {
        let created = try create(mode: mode, flags: flags, by: caller) { [self] new, opening throws(FileError) in
            let attributes = try replica.createNamelessFile(new, in: parent, opening: opening, request: caller.request)
            files.orphans.insertNameless(attributes.inode)
            return attributes
        }
        files.open.noteNameless(created.1.handle)
        return created
    }

    private func create(
        mode: UInt16, flags: Int32, by caller: Caller,
        _ make: (NewItem, Replica.FileOpening) throws(FileError) -> Attributes, then: (Attributes) -> Void = { _ in }
    ) throws(FileError) -> (Attributes, OpenedFile) {
        try cache.freeSpaceFloor.admitChange()
        let id = files.open.newID()
        var opened: OpenHandle?
        do throws(FileError) {
            // Open before the uploader can find the file: a file that is not open counts as finished, and would be
            // uploaded empty.
            let opening = Replica.FileOpening { [self] number, descriptor throws(FileError) in
                try admit(descriptor, by: caller)
                let handle = files.open.add(id, number, flags: flags, by: caller) {
                    // Whoever creates a file writes it.
                    OpenInode(
                        number: number, descriptor: descriptor, access: .cached, opener: caller, isMarked: true)
                }
                handle.inode.noteActivity(at: environment.uptime())
                opened = handle
            } undo: { [self] _ in
                if let handle = opened.take() { _ = files.open.remove(handle) }
            }
            let new = NewItem(.file, mode: mode).owned(by: caller)
            let attributes = try make(new, opening)
            guard let handle = opened else { preconditionFailure("the replica created a file without opening it") }
            try admit(handle, flags: flags, by: caller)
            then(attributes)
            return (attributes, OpenedFile(handle: handle.id, access: openAccess(handle)))
        } catch {
            // The file was created, and a later step failed: it must not count as open for ever.
            if let opened { _ = files.open.remove(opened) }
            throw error
        }
    }

    /// Lets a file that was just created be written at once.
    private func admit(_ handle: OpenHandle, flags: Int32, by caller: Caller) throws(FileError) {
        let request = OpenRequest(inode: handle.inode.number, flags: flags, caller: caller)
        guard request.isWriting else { return }
        let writer = LockManager.writer(handle, process: handle.process(of: caller))
        try locking.manager.admit(request.inode, by: writer, isRewriting: request.isRewriting)
    }

    /// Opens a file. Nothing is downloaded yet; truncation to zero never downloads.
    ///
    /// Opening for writing waits for the turn of an unrelated process and for claims, without holding any lock.
    /// - Throws: ``FileError/Code/superseded`` when the file lost its last name while the open waited: the kernel then
    ///   looks the path up again. See ``SupersededOpens``.
    package func open(_ request: OpenRequest) throws(FileError) -> Answer<OpenedFile> {
        syncEngine.follower.use.note()
        let inode = try known(request.inode)
        guard inode.attributes.kind == .file else {
            throw FileError(
                inode.attributes.kind == .directory ? .isDirectory : .invalid, "\(request.inode) is not a file")
        }
        let id = files.open.newID()
        guard request.isWriting else {
            if !inode.isLocal { try reading.rules.admitOpening(thread: request.caller.thread) }
            return .ready(openedFile(try add(id, request, inode)))
        }
        let process = ProcessTable.process(ofThread: request.caller.thread)
        let writer = Writer(process: ProcessID(process), handle: OpenHandleID(id.rawValue))
        guard !request.isImpatient else {
            try locking.manager.admit(request.inode, by: writer, isRewriting: false)
            return try openInTurn(id, request, inode, process)
        }
        let turn = try locking.manager.open(
            request.inode, by: writer, isRewriting: request.isRewriting)
        switch turn {
        case .ready:
            return try openInTurn(id, request, inode, process)
        case .pending(let wait):
            let hadName = inode.attributes.linkCount > 0
            return .pending { [self] () async throws(FileError) in
                try await wait()
                return try await openInTurn(id, request, try stillNamed(request, hadName, id), process).value
            }
        }
    }

    /// - Throws: ``FileError/Code/superseded`` for an inode that was replaced by one with newer bytes: the kernel looks
    ///   the path up again.
    private func known(_ number: InodeNumber) throws(FileError) -> Inode {
        do throws(FileError) {
            return try replica.look { try $0.inode(number) }
        } catch {
            guard error.code == .notFound else { throw error }
            throw FileError(.superseded, "\(number) no longer exists")
        }
    }

    /// The file after a wait, during which it may have been replaced or removed.
    private func stillNamed(_ request: OpenRequest, _ hadName: Bool, _ id: HandleID) throws(FileError) -> Inode {
        let number = request.inode
        let inode: Inode?
        do throws(FileError) {
            inode = try replica.look { try $0.inode(number) }
        } catch  where error.code == .notFound {
            inode = nil
        } catch {
            locking.manager.handleClosed(number, id)
            throw error
        }
        if let inode, !hadName || inode.attributes.linkCount > 0 { return inode }
        guard let inode, !files.superseded.mayRefuse(request.caller.thread) else {
            locking.manager.handleClosed(number, id)
            throw FileError(.superseded, "\(number) was replaced or removed while its open waited")
        }
        return inode
    }

    /// Opens a file for writing when its turn has come.
    private func openInTurn(
        _ id: HandleID, _ request: OpenRequest, _ inode: Inode, _ process: Int32
    ) throws(FileError) -> Answer<OpenedFile> {
        guard !request.isImpatient, isOnlyClosing(request.inode) || isInUse(request.inode) else {
            return try openNow(id, request, inode, process)
        }
        let hadName = inode.attributes.linkCount > 0
        return .pending { [self] () async throws(FileError) in
            do throws(FileError) {
                try await awaitReaders(of: request.inode)
            } catch {
                locking.manager.handleClosed(request.inode, id)
                throw error
            }
            return try await openNow(id, request, try stillNamed(request, hadName, id), process).value
        }
    }

    /// Opens a file for writing, and truncates it if requested.
    private func openNow(
        _ id: HandleID, _ request: OpenRequest, _ inode: Inode, _ process: Int32
    ) throws(FileError) -> Answer<OpenedFile> {
        let handle: OpenHandle
        do throws(FileError) {
            handle = try add(id, request, inode)
        } catch {
            locking.manager.handleClosed(request.inode, id)
            throw error
        }
        handle.note(process: process, ofThread: request.caller.thread)
        guard request.flags & O_TRUNC != 0 else { return .ready(openedFile(handle)) }
        do throws(FileError) {
            switch try truncateAtOpen(handle, by: request.caller) {
            case .ready: return .ready(openedFile(handle))
            case .pending(let wait):
                return .pending { [self] () async throws(FileError) in
                    do throws(FileError) {
                        try await wait()
                    } catch {
                        release(id, flockOwner: nil, by: request.caller)
                        throw error
                    }
                    return openedFile(handle)
                }
            }
        } catch {
            release(id, flockOwner: nil, by: request.caller)
            throw error
        }
    }

    private func add(_ id: HandleID, _ request: OpenRequest, _ inode: Inode) throws(FileError) -> OpenHandle {
        let known = files.open.addToOpen(id, request.inode, flags: request.flags, by: request.caller)
        let handle = if let known { known } else { try addFirst(id, request, inode) }
        files.superseded.opened(request.caller.thread)
        cache.evictor.noteUse(of: request.inode)
        if handle.inode.isVolatile {
            files.kernel.inodeChanged(request.inode, bytes: false)
            files.mapped.wake()
        }
        return handle
    }

    /// Adds the first handle of an inode that is not open, unless another open comes first.
    private func addFirst(_ id: HandleID, _ request: OpenRequest, _ inode: Inode) throws(FileError) -> OpenHandle {
        let mayBePassedThrough = mountAbilities.passthrough
        if mayBePassedThrough, request.isFirstForWriting {
            // A file that nobody has mapped any more need not be watched. On failure it still is, and is passed through.
            _ = try? files.recordMappedBytes(of: request.inode)
        }
        let descriptor = inode.isLocal ? try localBytes(request.inode) : nil
        if let descriptor { try admit(descriptor, by: request.caller) }
        return files.open.add(id, request.inode, flags: request.flags, by: request.caller) {
            // Decided where no other open can come between: the kernel opens the backing file for it, which must not
            // meet our lease.
            OpenInode(
                number: request.inode, descriptor: descriptor,
                access: mayBePassedThrough
                    ? access(to: descriptor, by: request) : descriptor == nil ? .direct : .cached,
                opener: request.caller)
        }
    }

    /// Opens a file that a request of the daemon before had created: it waits for nothing, and truncates nothing.
    func openRepeated(_ request: OpenRequest) throws(FileError) -> OpenedFile {
        let handle = try add(files.open.newID(), request, try known(request.inode))
        try admit(handle, flags: request.flags, by: request.caller)
        return openedFile(handle)
    }

    private func openedFile(_ handle: OpenHandle) -> OpenedFile {
        OpenedFile(handle: handle.id, access: openAccess(handle))
    }

    /// The backing file of a local inode; `nil` when it was evicted since, and when another program removed it and the
    /// container has the bytes.
    func localBytes(_ number: InodeNumber) throws(FileError) -> Descriptor? {
        do throws(FileError) {
            let descriptor = try replica.openBytes(of: number)
            try DescriptorReserve.spare(descriptor)
            return descriptor
        } catch {
            if error.code == .notLocal { return nil }
            guard error.code == .notFound else { throw error }
            try replica.change { try $0.bytesAreMissing(number) }
            logger.warning(
                "the backing file was removed by another program; downloading it again on access",
                metadata: ["inode": "\(number)"])
            return nil
        }
    }
}

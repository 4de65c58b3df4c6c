import Coordination
import Glibc
import Logging
package import Model
package import Replica
import Sync

/// What an open file is to the kernel.
package enum OpenAccess: Sendable {
    /// Through the page cache; with `keepsCache`, what is in it stays from one open to the next.
    case cached(keepsCache: Bool)
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

    /// Whether it may change the bytes, now or later.
    var isWriting: Bool { flags & O_ACCMODE != O_RDONLY || flags & O_TRUNC != 0 }

    /// Whether it takes a turn: what it wants is to write the file anew, not to change what is there together with others.
    var isRewriting: Bool {
        flags & O_TRUNC != 0 || (flags & O_ACCMODE == O_WRONLY && flags & O_APPEND == 0)
    }

    /// Whether it waits for nobody and takes no turn: touch(1) and truncate(1) open with `O_NONBLOCK`. Claims hold its writes off.
    var isImpatient: Bool { flags & O_NONBLOCK != 0 && flags & O_TRUNC == 0 }
}

extension FileSystem {
    /// Related: open(2) with `O_CREAT`. Under somebody's claim of the place it waits for a moment, as a rename does.
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
        try cache.freeSpaceFloor.admitChange()
        let id = files.open.newID()
        var opened: OpenHandle?
        let attributes: Attributes
        do throws(FileError) {
            // Open before the uploader can find it: what is not open counts as finished, and would be sent empty.
            let opening = Replica.FileOpening { [self] number, descriptor in
                let access = accessForBytesHere
                let handle = files.open.add(id, number, flags: flags) {
                    OpenInode(number: number, descriptor: descriptor, access: access, isMarked: true)
                }
                handle.inode.noteActivity(at: environment.uptime())
                opened = handle
            } undo: { [self] _ in
                if let handle = opened.take() { _ = files.open.remove(handle) }
            }
            (attributes, _) = try replica.createFile(
                name, in: parent, mode: mode, owner: caller.user, group: caller.group, opening: opening)
        } catch {
            // It was made, and what came after failed.
            if let opened { _ = files.open.remove(opened) }
            throw error
        }
        guard let handle = opened else { throw FileError(.inputOutput, "\(name) was made and is not open") }
        let request = OpenRequest(inode: attributes.inode, flags: flags, caller: caller)
        if request.isWriting {
            let process = handle.process(of: caller)
            try locking.manager.admit(
                attributes.inode, by: LockManager.writer(handle, process: process), isRewriting: request.isRewriting)
        }
        appeared(name, in: parent, by: caller)
        return (attributes, OpenedFile(handle: handle.id, access: openAccess(handle)))
    }

    /// Opens a file. Nothing is downloaded yet, and truncation to nothing never downloads.
    ///
    /// Opening for writing waits for a stranger's turn and for claims; nothing is held meanwhile.
    /// - Throws: ``FileError/Code/superseded`` when the file lost its last name while the open waited: the kernel then looks the path
    ///   up again.
    package func open(_ request: OpenRequest) throws(FileError) -> Answer<OpenedFile> {
        syncEngine.follower.use.note()
        let inode = try known(request.inode)
        guard inode.attributes.kind == .file else {
            throw FileError(
                inode.attributes.kind == .directory ? .isDirectory : .invalid, "\(request.inode) is not a file")
        }
        let id = files.open.newID()
        guard request.isWriting else { return .ready(openedFile(try add(id, request, inode))) }
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
                switch try openInTurn(id, request, try stillNamed(request.inode, hadName, id), process) {
                case .ready(let opened): return opened
                case .pending(let wait): return try await wait()
                }
            }
        }
    }

    /// - Throws: ``FileError/Code/superseded`` for an inode that is gone: newer bytes came as another one, and the kernel looks the path up again.
    private func known(_ number: InodeNumber) throws(FileError) -> Inode {
        do throws(FileError) {
            return try replica.inode(number)
        } catch {
            guard error.code == .notFound else { throw error }
            throw FileError(.superseded, "\(number) is not there any more")
        }
    }

    /// The file as it is after a wait, in which it may have been replaced or removed.
    private func stillNamed(_ number: InodeNumber, _ hadName: Bool, _ id: HandleID) throws(FileError) -> Inode {
        let inode: Inode?
        do throws(FileError) {
            inode = try replica.inode(number)
        } catch  where error.code == .notFound {
            inode = nil
        } catch {
            locking.manager.handleClosed(number, id)
            throw error
        }
        guard let inode, !hadName || inode.attributes.linkCount > 0 else {
            locking.manager.handleClosed(number, id)
            throw FileError(.superseded, "\(number) was replaced or removed while its open waited")
        }
        return inode
    }

    /// Opens a file for writing whose turn has come, and truncates it if that is asked for.
    private func openInTurn(
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
        let known = files.open.addToOpen(id, request.inode, flags: request.flags)
        let handle = if let known { known } else { try addFirst(id, request, inode) }
        cache.evictor.noteUse(of: request.inode)
        if handle.inode.isVolatile { files.kernel.inodeChanged(request.inode, bytes: false) }
        return handle
    }

    /// The first handle of an inode that nobody has open, unless somebody opens it at the same time.
    private func addFirst(_ id: HandleID, _ request: OpenRequest, _ inode: Inode) throws(FileError) -> OpenHandle {
        let descriptor = inode.isLocal ? try bytesHere(request.inode) : nil
        return files.open.add(id, request.inode, flags: request.flags) {
            OpenInode(
                number: request.inode, descriptor: descriptor,
                access: descriptor == nil ? .direct : accessForBytesHere)
        }
    }

    private func openedFile(_ handle: OpenHandle) -> OpenedFile {
        OpenedFile(handle: handle.id, access: openAccess(handle))
    }

    /// The backing file of an inode that is here; `nil` when it has been let go since, and when somebody removed it behind our back and
    /// the container has it.
    func bytesHere(_ number: InodeNumber) throws(FileError) -> Descriptor? {
        do throws(FileError) {
            let descriptor = try replica.openBytes(of: number)
            try DescriptorReserve.spare(descriptor)
            return descriptor
        } catch {
            if error.code == .notHere { return nil }
            guard error.code == .notFound else { throw error }
            try replica.bytesAreMissing(number)
            logger.warning(
                "the backing file was removed by another program; it is downloaded again when read",
                metadata: ["inode": "\(number)"])
            return nil
        }
    }

    private var accessForBytesHere: OpenInode.Access {
        mountAbilities.passthrough ? .passthrough : .cached
    }

    /// How this open goes, by the mode that the inode got at its first open. Without pass-through, writers go through the page cache, which
    /// sends each write at once: a write past it would be lost where somebody stores into a map of the same page at that moment, as the
    /// kernel then writes the whole page with what it had before.
    private func openAccess(_ handle: OpenHandle) -> OpenAccess {
        switch handle.inode.access {
        case .direct: handle.isWritable ? .cached(keepsCache: false) : .direct
        case .cached: .cached(keepsCache: true)
        case .passthrough:
            if let descriptor = handle.inode.readable {
                .passthrough(
                    descriptor: descriptor, alsoDirect: handle.isWritable || handle.inode.descriptor == nil)
            } else {
                .direct
            }
        }
    }
}

extension OpenAccess {
    /// The file number of the backing file that the kernel is to use, if it is to use one.
    package var backingFileNumber: Int32? {
        if case .passthrough(let descriptor, _) = self { descriptor.rawValue } else { nil }
    }
}

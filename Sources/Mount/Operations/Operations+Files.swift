import CFuse
import FileSystem
import Metering
import Model
import Sync

/// open(2), close(2), fsync(2).
extension Operations {
    static func addFiles(to table: inout fuse_lowlevel_ops) {
        table.open = { request, inode, information in
            let request = Request(request, .open)
            if Operations.openVirtual(request, InodeNumber(inode), information!.pointee) { return }
            Operations.open(request, InodeNumber(inode), information!.pointee)
        }
        table.create = { request, parent, name, mode, information in
            Operations.create(
                Request(request, .create), InodeNumber(parent), name, UInt16(mode & 0o7777), information!.pointee)
        }
        table.flush = { request, inode, information in
            let request = Request(request, .flush)
            if Operations.endVirtual(request, InodeNumber(inode)) { return }
            request.answer { () throws(FileError) in
                try request.fileSystem.flush(
                    HandleID(information), lockOwner: information!.pointee.lock_owner, by: request.caller)
            } with: { reply, _ in
                reply.done()
            }
        }
        table.release = { request, inode, information in
            let request = Request(request, .release)
            if Operations.endVirtual(request, InodeNumber(inode)) { return }
            let file = FileHandle(information)
            let owner = information!.pointee.flock_release != 0 ? information!.pointee.lock_owner : nil
            // First: whoever opens the file when it counts as closed must not find it open for the kernel.
            if file.isPassthrough, request.fileSystem.takeBacking(of: file.handle) {
                request.session.releaseBacking(InodeNumber(inode))
            }
            request.fileSystem.release(file.handle, flockOwner: owner, by: request.caller)
            Reply(request).done()
        }
        table.fsync = { request, _, bytesOnly, information in
            let request = Request(request, .fsync)
            request.answer { () throws(FileError) in
                try request.fileSystem.sync(HandleID(information), bytesOnly: bytesOnly != 0, by: request.caller)
            } with: { reply, _ in
                reply.done()
            }
        }
    }

    private static func open(_ request: Request, _ inode: InodeNumber, _ information: fuse_file_info) {
        let open = OpenRequest(inode: inode, flags: information.flags, caller: request.caller)
        request.answerInWholeTree { () throws(FileError) in
            try request.fileSystem.open(open)
        } with: { reply, opened in
            let session = request.session
            var information = information
            let mode = OpenMode(opened, of: inode, in: session)
            mode.apply(to: &information)
            session.releaseUnanswered(open.caller, except: opened)
            let isTaken = reply.opened(&information, mode.completion)
            if !isTaken { abandon(opened, mode, inode, session, by: open.caller) }
        }
    }

    private static func create(
        _ request: Request, _ parent: InodeNumber, _ name: UnsafePointer<CChar>?, _ mode: UInt16,
        _ information: fuse_file_info
    ) {
        if let announcer = announcer(of: request), let name = try? ItemName(name) {
            return create(EntryName(name, in: parent), for: announcer, request, information)
        }
        let caller = request.caller
        let flags = information.flags
        let isNameless = isNamelessFile(name)
        if let made = madeBefore(request) {
            return request.answer { () throws(FileError) in
                try request.fileSystem.openCreated(made, isNameless: isNameless, flags: flags, by: caller)
            } with: { reply, created in
                took(created, reply, request.session, information, by: caller)
            }
        }
        if isNameless {
            return request.answerInWholeTree { () throws(FileError) in
                Answer.ready(try request.fileSystem.createNameless(in: parent, mode: mode, flags: flags, by: caller))
            } with: { reply, created in
                took(created, reply, request.session, information, by: caller)
            }
        }
        request.answerInWholeTree({ () throws(FileError) in try ItemName(name) }) { name throws(FileError) in
            try request.fileSystem.create(name, in: parent, mode: mode, flags: flags, by: caller)
        } with: { reply, created in
            took(created, reply, request.session, information, by: caller)
        }
    }

    /// Whether the name is `/`, that of `FUSE_TMPFILE`, which ``WireCompletion`` passes on as a creation.
    private static func isNamelessFile(_ name: UnsafePointer<CChar>?) -> Bool {
        guard let name else { return false }
        return name[0] == CChar(UInt8(ascii: "/")) && name[1] == 0
    }

    private static func took(
        _ created: (Attributes, OpenedFile), _ reply: consuming Reply, _ session: FileSystemSession,
        _ information: fuse_file_info, by caller: Caller
    ) {
        let (attributes, opened) = created
        var information = information
        let mode = OpenMode(opened, of: attributes.inode, in: session)
        mode.apply(to: &information)
        session.releaseUnanswered(caller, except: opened)
        let isTaken = reply.created(attributes, &information, mode.completion)
        if !isTaken { abandon(opened, mode, attributes.inode, session, by: caller) }
    }

    /// The caller was interrupted before it got the file, so the kernel will not close it.
    private static func abandon(
        _ opened: OpenedFile, _ mode: OpenMode, _ inode: InodeNumber, _ session: FileSystemSession, by caller: Caller
    ) {
        if mode.file.isPassthrough, session.fileSystem.takeBacking(of: opened.handle) { session.releaseBacking(inode) }
        session.fileSystem.release(opened.handle, flockOwner: nil, by: caller)
    }
}

/// The file system's choice of access in the form of an OPEN reply.
struct OpenMode {
    let file: FileHandle
    private let isDirect: Bool
    private let keepsCache: Bool
    /// The parts of the reply that libfuse cannot send itself.
    let completion: WireCompletion.OpenCompletion?

    /// Registers the backing file if the file system wants pass-through; if the kernel refuses, the open proceeds
    /// without it.
    init(_ opened: OpenedFile, of inode: InodeNumber, in session: FileSystemSession) {
        var backing: Int32?
        switch opened.access {
        case .cached(let keeps):
            isDirect = false
            keepsCache = keeps && session.uses(.kernelCache)
        case .direct:
            isDirect = true
            keepsCache = false
        case .passthrough(_, let alsoDirect):
            backing = opened.access.backingFileNumber.flatMap { session.acquireBacking(inode, descriptor: $0) }
            isDirect = alsoDirect && backing != nil
            // The kernel refuses KEEP_CACHE together with pass-through; and pages cached before pass-through may be
            // stale.
            keepsCache = false
        }
        file = FileHandle(opened.handle, isPassthrough: backing != nil)
        // Before the kernel has it.
        if let backing { session.fileSystem.note(backing: backing, of: opened.handle) }
        // Without `FOPEN_PARALLEL_DIRECT_WRITES`: a write split into several requests would interleave with others.
        completion = backing.map {
            WireCompletion.OpenCompletion(flags: WireCompletion.OpenCompletion.passthrough, backing: $0)
        }
    }

    func apply(to information: inout fuse_file_info) {
        information.fh = file.word
        information.direct_io = isDirect ? 1 : 0
        information.keep_cache = keepsCache ? 1 : 0
    }
}

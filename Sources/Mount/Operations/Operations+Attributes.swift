import CFuse
import FileSystem
import Glibc
import Metering
import Model

/// stat(2), chmod(2), chown(2), truncate(2), utimensat(2), statvfs(3).
extension Operations {
    static func addAttributes(to table: inout fuse_lowlevel_ops) {
        table.getattr = { request, inode, _ in
            let request = Request(request, .getattr)
            if Operations.answerVirtual(request, InodeNumber(inode)) { return }
            request.answer { () throws(FileError) in
                try request.fileSystem.attributes(of: InodeNumber(inode))
            } with: { reply, attributes in
                reply.attributes(attributes)
            }
        }
        table.setattr = { request, inode, status, fields, information in
            Operations.setAttributes(
                Request(request, .setattr), InodeNumber(inode), status!.pointee, Int(fields), information)
        }
        table.statfs = { request, _ in
            let request = Request(request, .statfs)
            request.answer { () throws(FileError) in
                try request.fileSystem.statistics()
            } with: { reply, statistics in
                var values = statvfs(statistics)
                reply.statistics(&values)
            }
        }
    }

    /// The size first, since only that can wait or fail; then everything else at once.
    private static func setAttributes(
        _ request: Request, _ inode: InodeNumber, _ status: stat, _ fields: Int,
        _ information: UnsafeMutablePointer<fuse_file_info>?
    ) {
        if Operations.answerVirtual(request, inode) { return }
        if let announcer = announcer(of: request) {
            return answer(request, of: announcer) { $0.isTouch(of: inode) }
        }
        guard let change = AttributeChange(status, fields: fields) else {
            // The format counts nanoseconds from 1970 in 64 bits. Keeping another time than the caller gave would be worse.
            request.answer { () throws(FileError) -> Attributes in
                throw FileError(.timeOutOfRange, "a time is before 1677-09-21 or after 2262-04-11")
            } with: { reply, attributes in
                reply.attributes(attributes)
            }
            return
        }
        let fileSystem = request.fileSystem
        let caller = request.caller
        guard fields & Int(FUSE_SET_ATTR_SIZE) != 0 else {
            request.answerInWholeTree { () throws(FileError) in
                .ready(try fileSystem.setAttributes(of: inode, change, by: caller))
            } with: { reply, attributes in
                reply.attributes(attributes)
            }
            return
        }
        let handle = information.map { HandleID($0) }
        let finish: @Sendable (Attributes) throws(FileError) -> Attributes = { resized throws(FileError) in
            change == AttributeChange() ? resized : try fileSystem.setAttributes(of: inode, change, by: caller)
        }
        let size = Int64(status.st_size)
        request.answerInWholeTree { () throws(FileError) in
            switch try fileSystem.setSize(of: inode, to: size, handle: handle, by: caller) {
            case .ready(let resized):
                return .ready(try finish(resized))
            case .pending(let wait):
                return .pending { () async throws(FileError) in try finish(try await wait()) }
            }
        } with: { reply, attributes in
            reply.attributes(attributes)
        }
    }
}

extension AttributeChange {
    /// - Parameter fields: `FUSE_SET_ATTR_…`: the values to set.
    /// - Returns: `nil` when a time is out of the range of ``Timestamp``.
    fileprivate init?(_ status: stat, fields: Int) {
        func has(_ field: Int32) -> Bool { fields & Int(field) != 0 }
        self.init()
        if has(FUSE_SET_ATTR_MODE) { mode = UInt16(status.st_mode & 0o7777) }
        if has(FUSE_SET_ATTR_UID) { owner = status.st_uid }
        if has(FUSE_SET_ATTR_GID) { group = status.st_gid }
        if has(FUSE_SET_ATTR_ATIME_NOW) {
            isAccessedNow = true
        } else if has(FUSE_SET_ATTR_ATIME) {
            guard let time = Timestamp(exactly: status.st_atim) else { return nil }
            accessed = time
        }
        if has(FUSE_SET_ATTR_MTIME_NOW) {
            isModifiedNow = true
        } else if has(FUSE_SET_ATTR_MTIME) {
            guard let time = Timestamp(exactly: status.st_mtim) else { return nil }
            modified = time
        }
    }
}

extension Timestamp {
    fileprivate init?(exactly time: timespec) {
        self.init(exactSeconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }
}

extension statvfs {
    fileprivate init(_ statistics: FileSystemStatistics) {
        self.init()
        f_bsize = statistics.blockSize
        f_frsize = statistics.fragmentSize
        f_blocks = statistics.blocks
        f_bfree = statistics.freeBlocks
        f_bavail = statistics.availableBlocks
        f_files = statistics.files
        f_ffree = statistics.freeFiles
        f_favail = statistics.freeFiles
        f_namemax = UInt(ItemName.byteLimit)
    }
}

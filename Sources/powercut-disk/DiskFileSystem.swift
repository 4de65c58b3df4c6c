import CFuse
import Glibc

/// A file system with one file, `disk`, for a loop device to stand on.
enum DiskFileSystem {
    private static let file: fuse_ino_t = 2
    /// Nothing here changes behind the kernel's back, in seconds.
    private static let cacheLifetime = 3600.0

    /// Serves until it is unmounted.
    /// - Throws: ``DiskError`` when it cannot be mounted.
    static func serve(_ disk: VolatileDisk, at point: String) throws(DiskError) {
        var arguments = fuse_args()
        defer { fuse_opt_free_args(&arguments) }
        for word in ["powercut-disk", "-o", "fsname=powercut-disk"] { fuse_opt_add_arg(&arguments, word) }
        var table = operations
        let context = Unmanaged.passRetained(disk)
        defer { context.release() }
        guard let session = fuse_session_new(&arguments, &table, MemoryLayout.size(ofValue: table), context.toOpaque())
        else { throw DiskError("begin a FUSE session", errno) }
        defer { fuse_session_destroy(session) }
        guard fuse_session_mount(session, point) == 0 else { throw DiskError("mount \(point)", errno) }
        defer { fuse_session_unmount(session) }
        _ = fuse_session_loop(session)
    }

    private static func disk(_ request: fuse_req_t?) -> VolatileDisk {
        Unmanaged<VolatileDisk>.fromOpaque(fuse_req_userdata(request)!).takeUnretainedValue()
    }

    private static func status(of inode: fuse_ino_t, _ disk: VolatileDisk) -> stat {
        var status = stat()
        status.st_ino = UInt(inode)
        status.st_nlink = inode == file ? 1 : 2
        status.st_mode = inode == file ? S_IFREG | 0o600 : S_IFDIR | 0o755
        status.st_size = inode == file ? off_t(disk.byteCount) : 0
        return status
    }

    private static var operations: fuse_lowlevel_ops {
        var table = fuse_lowlevel_ops()
        table.lookup = { request, parent, name in
            guard parent == fuse_ino_t(FUSE_ROOT_ID), let name, strcmp(name, "disk") == 0 else {
                fuse_reply_err(request, ENOENT)
                return
            }
            var entry = fuse_entry_param()
            entry.ino = DiskFileSystem.file
            entry.attr = DiskFileSystem.status(of: DiskFileSystem.file, DiskFileSystem.disk(request))
            entry.attr_timeout = DiskFileSystem.cacheLifetime
            entry.entry_timeout = DiskFileSystem.cacheLifetime
            fuse_reply_entry(request, &entry)
        }
        table.getattr = { request, inode, _ in
            var status = DiskFileSystem.status(of: inode, DiskFileSystem.disk(request))
            fuse_reply_attr(request, &status, DiskFileSystem.cacheLifetime)
        }
        table.open = { request, _, information in
            information!.pointee.direct_io = 1
            fuse_reply_open(request, information)
        }
        table.read = { request, _, count, offset, _ in
            let error = DiskFileSystem.disk(request).read(Int(offset), count) { bytes in
                fuse_reply_buf(request, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
            }
            if error != 0 { fuse_reply_err(request, error) }
        }
        table.write = { request, _, bytes, count, offset, _ in
            let error = DiskFileSystem.disk(request).write(
                UnsafeRawBufferPointer(start: bytes, count: count), at: Int(offset))
            if error == 0 { fuse_reply_write(request, count) } else { fuse_reply_err(request, error) }
        }
        table.fsync = { request, _, _, _ in fuse_reply_err(request, DiskFileSystem.disk(request).flush()) }
        return table
    }
}

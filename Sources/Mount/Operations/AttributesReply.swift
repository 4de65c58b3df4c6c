import CFuse
import Glibc
import Metering
import Model

/// How long the kernel may cache a reply, in seconds.
///
/// Long, since it is notified of every change that it does not make itself (``KernelNotifier``).
struct CacheLifetime {
    /// For names, including names that do not exist.
    let entry: Double

    /// For a file that may be mapped for writing: stores change its times without the kernel noticing. Not zero, since
    /// databases query the size of their files before every query, and each time would be a request.
    static let volatile = 0.02

    /// - Parameter isCached: Whether the kernel caches anything (``FastPath/metadataCache``).
    init(isCached: Bool) { entry = isCached ? 3600 : 0 }

    /// Nothing may be cached.
    static let none = CacheLifetime(isCached: false)

    /// A write clears set-ID bits, and the kernel would learn of it only shortly after the writer.
    func attributes(_ attributes: Attributes) -> Double {
        let hasSetID = attributes.kind == .file && attributes.mode & 0o6000 != 0
        return hasSetID ? 0 : attributes.isVolatile ? min(Self.volatile, entry) : entry
    }
}

extension KernelOperation {
    /// Whether a request names nothing but an inode, directly or by an open file, so that only this can be missing.
    ///
    /// A listing is not among them: of a directory that was removed it answers ENOENT, as on a disk.
    var namesInode: Bool {
        switch self {
        case .lookup, .mknod, .mkdir, .unlink, .rmdir, .rename, .symlink, .link, .create: false
        case .readdir, .readdirplus: false
        case .forget, .getattr, .setattr, .statfs, .readlink, .open, .flush, .release, .fsync, .read, .write,
            .fallocate, .lseek, .copyFileRange, .opendir, .releasedir, .fsyncdir, .getxattr, .listxattr, .setxattr,
            .removexattr, .getlk, .setlk, .flock:
            true
        }
    }
}

extension ItemKind {
    /// The file type bits of `st_mode`.
    var typeBits: mode_t {
        switch self {
        case .file: S_IFREG
        case .directory: S_IFDIR
        case .symbolicLink: S_IFLNK
        case .fifo: S_IFIFO
        case .socket: S_IFSOCK
        case .characterDevice: S_IFCHR
        case .blockDevice: S_IFBLK
        }
    }

    /// - Returns: `nil` for bits that are not a type that mknod(2) creates.
    init?(typeBits mode: mode_t) {
        switch mode & S_IFMT {
        // mknod(2): zero means a regular file.
        case S_IFREG, 0: self = .file
        case S_IFIFO: self = .fifo
        case S_IFSOCK: self = .socket
        case S_IFCHR: self = .characterDevice
        case S_IFBLK: self = .blockDevice
        default: return nil
        }
    }
}

extension timespec {
    init(_ timestamp: Timestamp) {
        self.init(tv_sec: Int(timestamp.seconds), tv_nsec: Int(timestamp.nanoseconds))
    }
}

extension Timestamp {
    init(_ time: timespec) { self.init(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec)) }
}

extension stat {
    /// The unit of `st_blksize`: also the block size that the kernel gives the inode, so one page.
    private static let blockSize = 4096

    init(_ attributes: Attributes) {
        self.init()
        st_ino = ino_t(attributes.inode.rawValue)
        st_mode = attributes.kind.typeBits | mode_t(attributes.mode)
        st_nlink = nlink_t(attributes.linkCount)
        st_uid = attributes.owner
        st_gid = attributes.group
        st_rdev = dev_t(attributes.device)
        st_size = off_t(attributes.size)
        // Archivers take a file without blocks for a hole: a file only written through a mapping may have none on the
        // disk yet.
        let leastBlocks: Int64 = attributes.kind == .file && attributes.size > 0 ? 1 : 0
        st_blocks = blkcnt_t(max(attributes.blocks, leastBlocks))
        st_blksize = blksize_t(Self.blockSize)
        st_atim = timespec(attributes.accessed)
        st_mtim = timespec(attributes.localModified ?? attributes.modified)
        st_ctim = timespec(attributes.changed)
    }
}

extension fuse_entry_param {
    /// Inode numbers are never reused, so one generation is enough.
    private static let onlyGeneration: UInt64 = 1

    init(_ attributes: Attributes, _ lifetime: CacheLifetime) {
        self.init()
        ino = attributes.inode.rawValue
        generation = Self.onlyGeneration
        attr = stat(attributes)
        attr_timeout = lifetime.attributes(attributes)
        entry_timeout = lifetime.entry
    }
}

import Glibc
import Model

/// Copies a directory tree to another disk, with modes, owners, times, holes and hard links, by descriptors.
struct StateCopy {
    /// The inode numbers of the copies, keyed by those of the originals.
    private(set) var numbers: [UInt64: UInt64] = [:]
    /// The first copies of files with several names.
    private var places: [UInt64: BackingPlace] = [:]

    /// The unit of copying: 1 MiB.
    private static let pieceByteCount = 1 << 20

    /// - Parameter exclusion: Names in `source` that are left out.
    mutating func copyTree(
        _ source: Descriptor, to target: Descriptor, except exclusion: Set<String> = []
    ) throws(FileError) {
        for name in try SystemCalls.names(in: source) where !exclusion.contains(name) {
            let (from, to) = (BackingPlace(directory: source, name: name), BackingPlace(directory: target, name: name))
            let status = try SystemCalls.status(from)
            if status.isDirectory {
                try SystemCalls.makeDirectory(to)
                try copyTree(
                    try SystemCalls.open(from, O_RDONLY | O_DIRECTORY),
                    to: try SystemCalls.open(to, O_RDONLY | O_DIRECTORY))
                try finish(to, as: from, status)
            } else if status.isSymbolicLink {
                guard let link = SystemCalls.target(of: from) else { continue }
                try SystemCalls.makeSymbolicLink(to, to: link)
                try SystemCalls.setTimes(to, accessed: status.accessed, modified: status.modified)
            } else if status.isFile {
                try copyFile(from, to, status)
            } else {
                try copySpecial(from, to, status)
            }
            numbers[status.identity.inode] = try SystemCalls.status(to).identity.inode
        }
    }

    mutating func copyFile(
        _ from: BackingPlace, _ to: BackingPlace, _ status: BackingStatus
    ) throws(FileError) {
        if status.linkCount > 1 {
            if let first = places[status.identity.inode] { return try SystemCalls.link(first, as: to) }
            places[status.identity.inode] = to
        }
        let source = try SystemCalls.open(from, O_RDONLY)
        let target = try SystemCalls.open(to, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        try copyBytes(source, target, status.size, name: from.name)
        try finish(to, as: from, status)
    }

    private func copyBytes(
        _ source: Descriptor, _ target: Descriptor, _ byteCount: Int64, name: String
    ) throws(FileError) {
        try SystemCalls.check(ftruncate(target.rawValue, off_t(byteCount)), "truncate \(name)")
        let (seekData, seekHole): (Int32, Int32) = (3, 4)
        var piece = [UInt8](repeating: 0, count: Self.pieceByteCount)
        var position: off_t = 0
        while position < byteCount {
            position = lseek(source.rawValue, position, seekData)
            guard position >= 0 else {
                // A hole up to the end.
                if errno == ENXIO { return }
                throw FileError(systemCall: errno, "lseek \(name)")
            }
            let end = lseek(source.rawValue, position, seekHole)
            guard end >= 0 else { throw FileError(systemCall: errno, "lseek \(name)") }
            while position < end {
                let count = pread(source.rawValue, &piece, min(piece.count, end - position), position)
                guard count > 0 else { throw FileError(systemCall: count < 0 ? errno : EIO, "read \(name)") }
                let written = pwrite(target.rawValue, piece, count, position)
                guard written > 0 else { throw FileError(systemCall: written < 0 ? errno : EIO, "write \(name)") }
                position += off_t(written)
            }
        }
    }

    /// Copies device files, FIFOs and sockets, which are in no container but may be in the state directory.
    private func copySpecial(_ from: BackingPlace, _ to: BackingPlace, _ status: BackingStatus) throws(FileError) {
        var known = stat()
        try SystemCalls.check(
            fstatat(from.directory.rawValue, from.name, &known, AT_SYMLINK_NOFOLLOW), "stat \(from.name)")
        try SystemCalls.check(
            mknodat(to.directory.rawValue, to.name, known.st_mode, known.st_rdev), "mknod \(to.name)")
        try finish(to, as: from, status)
    }

    /// Gives a copy the owner, mode and times; the times last, since writing changes them.
    private func finish(_ to: BackingPlace, as from: BackingPlace, _ status: BackingStatus) throws(FileError) {
        var known = stat()
        try SystemCalls.check(
            fstatat(from.directory.rawValue, from.name, &known, AT_SYMLINK_NOFOLLOW), "stat \(from.name)")
        if geteuid() == 0 {
            try SystemCalls.check(
                fchownat(to.directory.rawValue, to.name, known.st_uid, known.st_gid, AT_SYMLINK_NOFOLLOW),
                "chown \(to.name)")
        }
        try SystemCalls.setMode(to, status.mode & 0o7777)
        try SystemCalls.setTimes(to, accessed: status.accessed, modified: status.modified)
    }
}

import Glibc
import Linux
import Model

/// Copies a directory tree to another disk, with modes, owners, times, holes and hard links, by descriptors.
struct StateCopy {
    /// The inode numbers of the copies, keyed by those of the originals.
    private(set) var numbers: [UInt64: UInt64] = [:]
    /// The first copies of files with several names.
    private var places: [UInt64: BackingPlace] = [:]

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
        guard try source.copyBytes(status.size, to: target, name: from.name) else {
            throw FileError(FailedCall("read", EIO), "read \(from.name)")
        }
        try finish(to, as: from, status)
    }

    /// Copies device files, FIFOs and sockets, which are in no container but may be in the state directory.
    private func copySpecial(_ from: BackingPlace, _ to: BackingPlace, _ status: BackingStatus) throws(FileError) {
        let known = try SystemCalls.entry(from)
        try SystemCalls.check("mknod", to.name) {
            mknodat(to.directory.rawValue, to.name, known.mode, dev_t(known.number))
        }
        try finish(to, as: from, status)
    }

    /// Gives a copy the owner, mode and times; the times last, since writing changes them.
    private func finish(_ to: BackingPlace, as from: BackingPlace, _ status: BackingStatus) throws(FileError) {
        let known = try SystemCalls.entry(from)
        if geteuid() == 0 {
            try SystemCalls.check("chown", to.name) {
                fchownat(to.directory.rawValue, to.name, known.owner, known.group, AT_SYMLINK_NOFOLLOW)
            }
        }
        try SystemCalls.setMode(to, status.mode & 0o7777)
        try SystemCalls.setTimes(to, accessed: status.accessed, modified: status.modified)
    }
}

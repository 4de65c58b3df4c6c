import CLinux
import Glibc
import Model

/// Copies a file or directory tree so that the source can be deleted afterwards: with modes, times, stored attributes
/// and holes, and everything is on the disk when it returns.
///
/// Foundation's `copyItem` loses files' attributes and times on Linux, and hangs on a FIFO.
enum ItemCopy {
    private static let bufferByteCount = 1 << 20

    /// - Parameter destination: Must not exist. Left incomplete on an error.
    /// - Throws: ``Errno``; `EOPNOTSUPP` for a FIFO, socket or device, `EBUSY` for a file that changes meanwhile.
    static func copy(_ source: String, to destination: String) throws(Errno) {
        let status = try FileStatus(of: source)
        switch status.kind {
        case S_IFREG: try copyFile(source, to: destination, status)
        case S_IFDIR: try copyDirectory(source, to: destination, status)
        case S_IFLNK: try copyLink(source, to: destination, status)
        default: throw Errno(EOPNOTSUPP)
        }
    }

    private static func copyFile(
        _ source: String, to destination: String, _ status: FileStatus
    ) throws(Errno) {
        let input = try FileDescriptor(source, O_RDONLY | O_NOFOLLOW)
        let output = try FileDescriptor(destination, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        try copyBytes(from: input, to: output, byteCount: status.value.st_size)
        try copyAttributes(source, to: destination)
        fchown(output.number, status.value.st_uid, status.value.st_gid)  // as permitted, like cp -a
        guard fchmod(output.number, status.permissions) == 0 else { throw Errno.current }
        var times = status.times
        guard futimens(output.number, &times) == 0, fsync(output.number) == 0 else { throw Errno.current }
        guard try FileStatus(of: source).hasSameContent(as: status) else { throw Errno(EBUSY) }
    }

    /// Copies the parts that have data; the rest stays a hole.
    private static func copyBytes(
        from input: borrowing FileDescriptor, to output: borrowing FileDescriptor, byteCount: Int
    ) throws(Errno) {
        var buffer = [UInt8](repeating: 0, count: bufferByteCount)
        var position = 0
        while position < byteCount {
            let start = lseek(input.number, position, CLinux_SEEK_DATA)
            if start < 0 {
                if errno == ENXIO { break }  // only a hole is left
                throw Errno.current
            }
            let end = lseek(input.number, start, CLinux_SEEK_HOLE)
            guard end >= 0 else { throw Errno.current }
            position = start
            while position < end {
                let count = pread(input.number, &buffer, min(buffer.count, end - position), position)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw count < 0 ? Errno.current : Errno(EBUSY) }  // truncated meanwhile
                try write(buffer[..<count], to: output, at: position)
                position += count
            }
        }
        guard ftruncate(output.number, byteCount) == 0 else { throw Errno.current }
    }

    private static func write(
        _ bytes: ArraySlice<UInt8>, to output: borrowing FileDescriptor, at offset: Int
    ) throws(Errno) {
        var rest = bytes
        var offset = offset
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { pwrite(output.number, $0.baseAddress, $0.count, offset) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw count < 0 ? Errno.current : Errno(EIO) }
            rest = rest.dropFirst(count)
            offset += count
        }
    }

    private static func copyDirectory(
        _ source: String, to destination: String, _ status: FileStatus
    ) throws(Errno) {
        guard mkdir(destination, 0o700) == 0 else { throw Errno.current }
        for name in try DirectoryListing.names(in: source) {
            try copy("\(source)/\(name)", to: "\(destination)/\(name)")
        }
        try copyAttributes(source, to: destination)
        lchown(destination, status.value.st_uid, status.value.st_gid)  // as permitted, like cp -a
        guard chmod(destination, status.permissions) == 0 else { throw Errno.current }
        try setTimes(destination, status)
        try DirectoryListing.sync(destination)
    }

    private static func copyLink(
        _ source: String, to destination: String, _ status: FileStatus
    ) throws(Errno) {
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = readlink(source, &target, Int(PATH_MAX))
        guard count >= 0, symlink(String(decoding: target[..<count], as: UTF8.self), destination) == 0 else {
            throw Errno.current
        }
        try setTimes(destination, status)
    }

    private static func setTimes(_ path: String, _ status: FileStatus) throws(Errno) {
        var times = status.times
        guard utimensat(AT_FDCWD, path, &times, AT_SYMLINK_NOFOLLOW) == 0 else { throw Errno.current }
    }

    /// Copies the stored attributes that the destination does not have.
    static func copyAttributes(_ source: String, to destination: String) throws(Errno) {
        let present = Set(try ExtendedAttribute.names(of: destination).map(AttributeName.init))
        for name in try ExtendedAttribute.names(of: source)
        where name.hasBytePrefix("user.") && !present.contains(AttributeName(name)) {
            guard let value = try ExtendedAttribute.bytes(name, of: source) else { continue }
            do throws(Errno) {
                try ExtendedAttribute.set(name, to: value, of: destination)
            } catch .notSupported {
                return  // the file system there has no attributes, and cp -a copies without them as well
            }
        }
    }
}

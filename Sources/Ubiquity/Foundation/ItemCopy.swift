import Glibc
import Linux
import Model

/// Copies a file or directory tree so that the source can be deleted afterwards: with modes, times, stored attributes
/// and holes, and everything is on the disk when it returns.
///
/// Foundation's `copyItem` loses files' attributes and times on Linux, and hangs on a FIFO.
enum ItemCopy {
    /// - Parameter destination: Must not exist. Left incomplete on an error.
    /// - Throws: ``FileError``; `EOPNOTSUPP` for a FIFO, socket or device, `EBUSY` for a file that changes meanwhile.
    static func copy(_ source: String, to destination: String) throws(FileError) {
        let status = try FileStatus(of: source)
        switch status.kind {
        case S_IFREG: try copyFile(source, to: destination, status)
        case S_IFDIR: try copyDirectory(source, to: destination, status)
        case S_IFLNK: try copyLink(source, to: destination, status)
        default: throw FileError(.unsupported, source)
        }
    }

    private static func copyFile(
        _ source: String, to destination: String, _ status: FileStatus
    ) throws(FileError) {
        let input = try Descriptor(source, O_RDONLY | O_NOFOLLOW)
        let output = try Descriptor(destination, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        // Else it was truncated meanwhile.
        guard try input.copyBytes(Int64(status.value.st_size), to: output) else { throw FileError(.busy, source) }
        try copyAttributes(source, to: destination)
        fchown(output.rawValue, status.value.st_uid, status.value.st_gid)  // as permitted, like cp -a
        try output.setMode(UInt16(status.permissions))
        try SystemCalls.check("futimens") { futimens(output.rawValue, status.times) }
        try output.synchronize()
        guard try FileStatus(of: source).hasSameContent(as: status) else { throw FileError(.busy, source) }
    }

    private static func copyDirectory(
        _ source: String, to destination: String, _ status: FileStatus
    ) throws(FileError) {
        try SystemCalls.check("mkdir", destination) { mkdir(destination, 0o700) }
        for name in try SystemCalls.names(in: source) {
            try copy("\(source)/\(name)", to: "\(destination)/\(name)")
        }
        try copyAttributes(source, to: destination)
        lchown(destination, status.value.st_uid, status.value.st_gid)  // as permitted, like cp -a
        try SystemCalls.setMode(of: destination, UInt16(status.permissions))
        try setTimes(destination, status)
        try Descriptor(destination, O_RDONLY | O_DIRECTORY).synchronize()
    }

    private static func copyLink(
        _ source: String, to destination: String, _ status: FileStatus
    ) throws(FileError) {
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = try SystemCalls.check("readlink", source) { readlink(source, &target, Int(PATH_MAX)) }
        try SystemCalls.check("symlink", destination) {
            symlink(String(decoding: target[..<count], as: UTF8.self), destination)
        }
        try setTimes(destination, status)
    }

    private static func setTimes(_ path: String, _ status: FileStatus) throws(FileError) {
        try SystemCalls.check("utimensat", path) { utimensat(AT_FDCWD, path, status.times, AT_SYMLINK_NOFOLLOW) }
    }

    /// Copies the stored attributes that the destination does not have.
    static func copyAttributes(_ source: String, to destination: String) throws(FileError) {
        let present = Set(try ExtendedAttribute.names(of: destination).map(AttributeName.init))
        for name in try ExtendedAttribute.names(of: source)
        where name.hasBytePrefix("user.") && !present.contains(AttributeName(name)) {
            guard let value = try ExtendedAttribute.bytes(name, of: source) else { continue }
            do throws(FileError) {
                try ExtendedAttribute.set(name, to: value, of: destination)
            } catch {
                guard error.code == .unsupported else { throw error }
                return  // the file system there has no attributes, and cp -a copies without them as well
            }
        }
    }
}

import CLinux
import Foundation
import Glibc
import Model
import Replica
import Linux

/// A local directory that is imported. Its items are named relative to the open directory, and no link is followed.
final class SourceDirectory: Sendable {
    /// Relative to the import's root; empty for the root.
    let path: String
    private let descriptor: Descriptor

    /// The `stat(2)` fields of one item that are imported or show whether it has changed.
    struct Status: Equatable {
        var kind: ItemKind
        var mode: UInt16
        var size: Int64
        var modified: Timestamp
        var changed: Timestamp
        var inode: UInt64
    }

    init(_ path: String) throws(FileError) {
        let raw = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard raw >= 0 else { throw FileError(systemCall: errno, path) }
        descriptor = Descriptor(owning: raw)
        self.path = ""
    }

    /// An open directory, as the root.
    init(descriptor: Descriptor) {
        self.descriptor = descriptor
        path = ""
    }

    private init(_ descriptor: Descriptor, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    func path(of name: some Sequence<UInt8>) -> String {
        let text = String(decoding: Array(name), as: UTF8.self)
        return path.isEmpty ? text : "\(path)/\(text)"
    }

    /// All names, sorted by their bytes. Related: `readdir(3)`.
    func names() throws(FileError) -> [[UInt8]] {
        // A separate descriptor, since reading moves its position.
        let raw = openat(descriptor.rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard raw >= 0, let stream = fdopendir(raw) else { throw FileError(systemCall: errno, "opendir") }
        defer { closedir(stream) }
        var names: [[UInt8]] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw FileError(systemCall: errno, "readdir") }
                break
            }
            // The declared 256 bytes may reach beyond the entry, so the name is read in place.
            let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
            let start = UnsafeRawPointer(entry) + offset
            let byteCount = strlen(start.assumingMemoryBound(to: CChar.self))
            let name = Array(UnsafeRawBufferPointer(start: start, count: byteCount))
            if name != Array(".".utf8), name != Array("..".utf8) { names.append(name) }
        }
        return names.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Related: `fstatat(2)`.
    func status(_ name: [UInt8]) throws(FileError) -> Status {
        var status = stat()
        let result = Self.terminated(name).withUnsafeBufferPointer {
            fstatat(descriptor.rawValue, $0.baseAddress!, &status, AT_SYMLINK_NOFOLLOW)
        }
        guard result == 0 else { throw FileError(systemCall: errno, "stat") }
        return Status(status)
    }

    func directory(_ name: [UInt8]) throws(FileError) -> SourceDirectory {
        SourceDirectory(try openDirectory(name), path: path(of: name))
    }

    func openDirectory(_ name: [UInt8]) throws(FileError) -> Descriptor { try open(name, O_DIRECTORY) }

    /// Opens a file, and returns the status of what was opened.
    func file(_ name: [UInt8]) throws(FileError) -> (descriptor: Descriptor, status: Status) {
        // If it was replaced by a FIFO meanwhile, the open must not wait for its other end.
        let file = try open(name, O_NONBLOCK)
        return (file, try Self.status(of: file))
    }

    static func status(of file: Descriptor) throws(FileError) -> Status {
        var status = stat()
        guard fstat(file.rawValue, &status) == 0 else { throw FileError(systemCall: errno, "fstat") }
        return Status(status)
    }

    /// Related: `readlinkat(2)`.
    func target(of name: [UInt8]) throws(FileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = Self.terminated(name).withUnsafeBufferPointer { name in
            CLinux_readlinkat(descriptor.rawValue, name.baseAddress!, &bytes, bytes.count)
        }
        guard count >= 0 else { throw FileError(systemCall: errno, "readlink") }
        return Array(bytes.prefix(count))
    }

    /// The attributes that are synced: `user.*`, except our own.
    func attributes(ofDirectory name: [UInt8]) throws(FileError) -> [AttributeName: Data] {
        try Self.attributes(of: try openDirectory(name))
    }

    /// Related: `flistxattr(2)`, `fgetxattr(2)`.
    static func attributes(of file: Descriptor) throws(FileError) -> [AttributeName: Data] {
        var attributes: [AttributeName: Data] = [:]
        for name in file.extendedAttributeNames where name.utf8.starts(with: "user.".utf8) {
            if name.utf8.starts(with: "user.dewpoint.".utf8) { continue }
            // Removed since it was listed.
            guard let value = file.extendedAttribute(name) else { continue }
            attributes[AttributeName(name)] = Data(value)
        }
        return attributes
    }

    private func open(_ name: [UInt8], _ flags: Int32) throws(FileError) -> Descriptor {
        let raw = Self.terminated(name).withUnsafeBufferPointer {
            openat(descriptor.rawValue, $0.baseAddress!, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | flags, 0)
        }
        guard raw >= 0 else { throw FileError(systemCall: errno, "open") }
        return Descriptor(owning: raw)
    }

    private static func terminated(_ name: [UInt8]) -> [CChar] { name.map { CChar(bitPattern: $0) } + [0] }
}

extension SourceDirectory.Status {
    init(_ status: stat) {
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            case S_IFIFO: .fifo
            case S_IFSOCK: .socket
            case S_IFCHR: .characterDevice
            default: .blockDevice
            }
        mode = UInt16(status.st_mode & 0o7777)
        size = Int64(status.st_size)
        modified = Timestamp(seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int64(status.st_mtim.tv_nsec))
        changed = Timestamp(seconds: Int64(status.st_ctim.tv_sec), nanoseconds: Int64(status.st_ctim.tv_nsec))
        inode = UInt64(status.st_ino)
    }
}

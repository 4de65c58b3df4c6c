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
    let descriptor: Descriptor

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
        descriptor = try Descriptor(path, O_RDONLY | O_DIRECTORY, as: path)
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
        var names: [[UInt8]] = []
        try SystemCalls.forEachName(in: descriptor) { name, _ in
            names.append(Array(UnsafeRawBufferPointer(start: name, count: strlen(name))))
        }
        return names.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Related: `fstatat(2)`.
    func status(_ name: [UInt8]) throws(FileError) -> Status {
        Status(try SystemCalls.entry(Self.terminated(name), in: descriptor))
    }

    /// Everything that `fstatat(2)` says.
    func object(_ name: [UInt8]) throws(FileError) -> ObjectStatus {
        try SystemCalls.entry(Self.terminated(name), in: descriptor)
    }

    /// The names of its attributes, of all kinds; empty where they cannot be told, or it is gone. Related: `llistxattr(2)`.
    func attributeNames(of name: [UInt8]) -> [String] {
        (try? HeldObject(Self.terminated(name), in: descriptor))?.attributeNames ?? []
    }

    /// Whether nobody may rename it, not even root. Related: `statx(2)`, `STATX_ATTR_IMMUTABLE`; chattr(1).
    func isFixed(_ name: [UInt8]) throws(FileError) -> Bool {
        let text = String(decoding: name, as: UTF8.self)
        let attributes = try SystemCalls.extendedStatus(text, in: descriptor, mask: 0).stx_attributes
        return attributes & UInt64(STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND) != 0
    }

    func directory(_ name: [UInt8]) throws(FileError) -> SourceDirectory {
        SourceDirectory(try openDirectory(name), path: path(of: name))
    }

    func openDirectory(_ name: [UInt8]) throws(FileError) -> Descriptor { try open(name, O_DIRECTORY) }

    /// Opens a file, and returns the status of what was opened.
    func file(_ name: [UInt8]) throws(FileError) -> (descriptor: Descriptor, status: Status) {
        // If it was replaced by a FIFO meanwhile, the open must not wait for its other end.
        let file = try open(name, O_NONBLOCK)
        return (file, Status(try file.status()))
    }

    /// Related: `readlinkat(2)`.
    func target(of name: [UInt8]) throws(FileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = try SystemCalls.check("readlink") {
            CLinux_readlinkat(descriptor.rawValue, Self.terminated(name), &bytes, bytes.count)
        }
        return Array(bytes.prefix(count))
    }

    /// The attributes that are synced: `user.*`, except our own.
    func attributes(ofDirectory name: [UInt8]) throws(FileError) -> [AttributeName: Data] {
        try Self.attributes(of: try openDirectory(name))
    }

    /// Related: `flistxattr(2)`, `fgetxattr(2)`.
    static func attributes(of file: Descriptor) throws(FileError) -> [AttributeName: Data] {
        var attributes: [AttributeName: Data] = [:]
        for name in file.userAttributeNames {
            // Removed since it was listed.
            guard let value = file.extendedAttribute(name) else { continue }
            attributes[AttributeName(name)] = Data(value)
        }
        return attributes
    }

    private func open(_ name: [UInt8], _ flags: Int32) throws(FileError) -> Descriptor {
        Descriptor(
            owning: try SystemCalls.check("open") {
                openat(descriptor.rawValue, Self.terminated(name), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | flags, 0)
            })
    }

    private static func terminated(_ name: [UInt8]) -> [CChar] { name.map { CChar(bitPattern: $0) } + [0] }
}

extension SourceDirectory.Status {
    init(_ status: ObjectStatus) {
        kind = ItemKind(status)
        mode = UInt16(status.mode & 0o7777)
        size = status.size
        modified = status.modified
        changed = status.changed
        inode = status.inode
    }
}

import CLinux
import Glibc

/// Reads and sets extended attributes of items, of symbolic links themselves.
///
/// The mount answers status and takes commands through attributes: synchronously, without a connection, and for mounts
/// of other users too. See "Extended attributes" in the Semantics page.
enum ExtendedAttribute {
    /// The kernel requires permission to read, or to write for setting, under the first prefix. Under the second one
    /// the mount requires the owner or root. (`user.` does not work on symbolic links.)
    private static let prefixes = ["dewpoint.", "system.dewpoint."]

    /// The longest value that the kernel transfers, in bytes. Related: xattr(7).
    static let valueByteLimit = 65_536

    /// Reads an attribute of an item in a container.
    ///
    /// - Parameter name: Without prefix, such as `status`.
    /// - Returns: `nil` for an item outside any container, and for an attribute without a value.
    static func control(_ name: String, of path: String) throws(Errno) -> String? {
        do throws(Errno) {
            return try value(prefixes[0] + name, of: path)
        } catch .permissionDenied {
            return try value(prefixes[1] + name, of: path)
        }
    }

    /// Sets an attribute of an item in a container, which carries out a command.
    static func setControl(_ name: String, to value: String, of path: String) throws(Errno) {
        do throws(Errno) {
            try set(prefixes[0] + name, to: Array(value.utf8), of: path)
        } catch .permissionDenied {
            try set(prefixes[1] + name, to: Array(value.utf8), of: path)
        }
    }

    private static func value(_ name: String, of path: String) throws(Errno) -> String? {
        guard let bytes = try bytes(name, of: path) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// - Parameter name: With its prefix.
    /// - Returns: `nil` when there is no such attribute, or the file system has none.
    static func bytes(_ name: String, of path: String) throws(Errno) -> [UInt8]? {
        // Long enough for the status of most items, so that one call is enough.
        var value = [UInt8](repeating: 0, count: 2048)
        var count = CLinux_lgetxattr(path, name, &value, value.count)
        if count < 0, Glibc.errno == ERANGE {
            value = [UInt8](repeating: 0, count: valueByteLimit)
            count = CLinux_lgetxattr(path, name, &value, value.count)
        }
        if count >= 0 { return Array(value[..<count]) }
        let number = Glibc.errno
        if number == ENODATA || number == EOPNOTSUPP { return nil }
        throw Errno(number)
    }

    static func set(_ name: String, to value: [UInt8], of path: String) throws(Errno) {
        guard CLinux_lsetxattr(path, name, value, value.count, 0) == 0 else { throw Errno.current }
    }

    /// The names of the attributes that are stored with an item; empty where the file system has none.
    static func names(of path: String) throws(Errno) -> [String] {
        var names = [UInt8](repeating: 0, count: valueByteLimit)
        let count = CLinux_llistxattr(path, &names, names.count)
        guard count >= 0 else {
            if Glibc.errno == EOPNOTSUPP { return [] }
            throw Errno.current
        }
        return names[..<count].split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }
}

/// The `errno` of a failed system call.
struct Errno: Error, Equatable, Sendable {
    let number: Int32

    init(_ number: Int32) { self.number = number }

    /// That of the last call on this thread.
    static var current: Errno { Errno(Glibc.errno) }
    static let permissionDenied = Errno(EACCES)

    static func ~= (pattern: Errno, error: Errno) -> Bool { pattern == error }
}

extension Errno {
    static let noSuchFile = Errno(ENOENT)
    static let notSupported = Errno(EOPNOTSUPP)
    static let crossDevice = Errno(EXDEV)
}

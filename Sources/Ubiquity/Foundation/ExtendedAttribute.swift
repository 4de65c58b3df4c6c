import CLinux
import Glibc
import Linux
import Model

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
    static func control(_ name: String, of path: String) throws(FileError) -> String? {
        do throws(FileError) {
            return try value(prefixes[0] + name, of: path)
        } catch {
            guard error.code == .denied else { throw error }
            return try value(prefixes[1] + name, of: path)
        }
    }

    /// Sets an attribute of an item in a container, which carries out a command.
    static func setControl(_ name: String, to value: String, of path: String) throws(FileError) {
        do throws(FileError) {
            try set(prefixes[0] + name, to: Array(value.utf8), of: path)
        } catch {
            guard error.code == .denied else { throw error }
            try set(prefixes[1] + name, to: Array(value.utf8), of: path)
        }
    }

    private static func value(_ name: String, of path: String) throws(FileError) -> String? {
        guard let bytes = try bytes(name, of: path) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// - Parameter name: With its prefix.
    /// - Returns: `nil` when there is no such attribute, or the file system has none.
    static func bytes(_ name: String, of path: String) throws(FileError) -> [UInt8]? {
        do throws(FileError) {
            // Long enough for the status of most items, so that one call is enough.
            return try bytes(name, of: path, byteLimit: 2048)
        } catch {
            switch error.number {
            case ERANGE: return try bytes(name, of: path, byteLimit: valueByteLimit)
            case ENODATA, EOPNOTSUPP: return nil
            default: throw error
            }
        }
    }

    private static func bytes(_ name: String, of path: String, byteLimit: Int) throws(FileError) -> [UInt8] {
        var value = [UInt8](repeating: 0, count: byteLimit)
        let count = try SystemCalls.check("getxattr", path) { CLinux_lgetxattr(path, name, &value, value.count) }
        return Array(value[..<count])
    }

    static func set(_ name: String, to value: [UInt8], of path: String) throws(FileError) {
        try SystemCalls.check("setxattr", path) { CLinux_lsetxattr(path, name, value, value.count, 0) }
    }

    /// The names of the attributes that are stored with an item; empty where the file system has none.
    static func names(of path: String) throws(FileError) -> [String] {
        var names = [UInt8](repeating: 0, count: valueByteLimit)
        var count = 0
        do throws(FileError) {
            count = try SystemCalls.check("listxattr", path) { CLinux_llistxattr(path, &names, names.count) }
        } catch {
            guard error.code == .unsupported else { throw error }
        }
        return names[..<count].split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }
}

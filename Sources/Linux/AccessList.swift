import CLinux
import Glibc

/// The access list of a file, by which the mode's bits for the group stand for the most that anybody but the owner gets, not
/// for what the group gets. Related: acl(5).
package struct AccessList: Hashable, Sendable {
    /// What the owning group gets: `0o7` for everything.
    private let group: UInt16

    package static let attribute = "system.posix_acl_access"
    /// That of a directory, for what is made in it.
    package static let defaultAttribute = "system.posix_acl_default"

    private static let version: UInt32 = 2
    private static let groupTag: UInt16 = 0x04
    private static let maskTag: UInt16 = 0x10
    private static let entryByteCount = 8

    /// - Parameter value: That of the attribute, as the kernel has it.
    /// - Returns: `nil` for what is none.
    package init?(_ value: [UInt8]) {
        func number(at offset: Int, _ byteCount: Int) -> UInt32 {
            value[offset..<offset + byteCount].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
        guard value.count >= 4, (value.count - 4) % Self.entryByteCount == 0, number(at: 0, 4) == Self.version else {
            return nil
        }
        var entries: [UInt16: UInt16] = [:]
        for offset in stride(from: 4, to: value.count, by: Self.entryByteCount) {
            entries[UInt16(number(at: offset, 2))] = UInt16(number(at: offset + 2, 2))
        }
        guard let group = entries[Self.groupTag] else { return nil }
        self.group = group & (entries[Self.maskTag] ?? 0o7) & 0o7
    }

    /// The mode of a file without the list, on which nobody may more than with it.
    package func mode(_ mode: UInt16) -> UInt16 { mode & ~0o070 | group << 3 }

    /// The mode to set so that ``mode(_:)`` is a wanted one. Where it is by now for the group, the list stays as it is.
    package func mode(for wanted: UInt16, now: UInt16) -> UInt16 {
        wanted & 0o070 == group << 3 ? wanted & ~0o070 | now & 0o070 : wanted
    }
}

extension HeldObject {
    /// - Returns: `nil` without one, and where the file system has none.
    package var accessList: AccessList? {
        // Most have none.
        guard CLinux_getxattr(path, AccessList.attribute, nil, 0) > 0 else { return nil }
        // Room for more entries than any file system takes.
        var value = [UInt8](repeating: 0, count: 64 << 10)
        let count = CLinux_getxattr(path, AccessList.attribute, &value, value.count)
        return count > 0 ? AccessList(Array(value.prefix(count))) : nil
    }
}

extension Descriptor {
    /// - Returns: `nil` without one, and where the file system has none.
    package var accessList: AccessList? { extendedAttribute(AccessList.attribute).flatMap { AccessList($0) } }
}

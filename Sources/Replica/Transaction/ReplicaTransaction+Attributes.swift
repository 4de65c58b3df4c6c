import GRDB
import Foundation
package import Model

/// Changes of metadata by the mount.
extension ReplicaTransaction {
    /// Related: `chmod(2)`, `chown(2)`, `utimensat(2)`. It hides no change of the bytes.
    ///
    /// - Parameter isMapped: Whether a program may be storing into a mapping of the file at this moment. Then a change
    ///   of its modification time counts as one of its bytes: it would hide a store that comes just before it.
    /// - Throws: `notFound`; `inputOutput` when another file has the place of the bytes on the disk.
    package func setAttributes(
        of number: InodeNumber, _ change: AttributeChange, isMapped: Bool = false
    ) throws -> Attributes {
        var row = try rows.inodeRow(number)
        let setsModified = change.modified != nil || change.isModifiedNow
        if setsModified { row = try noticeBytes(of: row) }
        var attributes = row.attributes
        var change = change
        let moment = later(than: attributes.changed)
        if change.isAccessedNow { change.accessed = moment }
        if change.isModifiedNow { change.modified = moment }
        // An explicit mode takes precedence: a kernel that clears the bits by itself sends the remaining ones.
        if change.mode == nil, change.owner != nil || change.group != nil, row.kind != .directory {
            let cleared = AttributeChange.withoutSetID(attributes.mode)
            if cleared != attributes.mode { change.mode = cleared }
        }
        attributes.mode = (change.mode ?? attributes.mode) & 0o7777
        attributes.owner = change.owner ?? attributes.owner
        attributes.group = change.group ?? attributes.group
        attributes.accessed = change.accessed ?? attributes.accessed
        attributes.modified = change.modified ?? attributes.modified
        attributes.changed = moment
        try update(attributes)
        if change.modified != nil, attributes.localModified != nil {
            try rows.execute("UPDATE inodes SET local_modified = NULL WHERE id = ?", [number.row])
            attributes.localModified = nil
        }
        try objects.update(row, to: attributes, change)
        if setsModified, isMapped, row.kind == .file, row.isLocal { try markModified(number) }
        // Owner and access time are not synced.
        if change.mode != nil || change.modified != nil { try outbox.enqueueItems(of: number) }
        return attributes
    }

    func update(_ attributes: Attributes) throws {
        try rows.execute(
            Self.updateAttributes, Int64(attributes.mode), Int64(attributes.owner), Int64(attributes.group),
            attributes.size, attributes.blocks, attributes.accessed.rawValue, attributes.modified.rawValue,
            attributes.changed.rawValue, attributes.inode.row)
    }

    private static let updateAttributes = IndexStatement(
        """
        UPDATE inodes SET mode = ?, owner = ?, grp = ?, size = ?, blocks = ?, accessed = ?, modified = ?, changed = ?
        WHERE id = ?
        """)
}

/// Extended attributes of other programs, `user.…`, by full name.
extension ReplicaTransaction {
    /// The longest name and value, in bytes, as in the kernel (`XATTR_NAME_MAX`, `XATTR_SIZE_MAX`).
    static let xattrNameByteLimit = 255
    static let xattrValueByteLimit = 64 << 10

    /// - Throws: `notFound`; `bufferTooSmall` for a name that is empty or too long, `attributeTooLarge` for the value;
    ///   `attributeExists` or `noAttribute`, as the mode asks.
    package func setXattr(_ name: String, _ value: [UInt8], of number: InodeNumber, mode: XattrMode) throws {
        guard !name.isEmpty, name.utf8.count <= Self.xattrNameByteLimit else {
            throw FileError(.bufferTooSmall, "the attribute's name has \(name.utf8.count) bytes")
        }
        guard value.count <= Self.xattrValueByteLimit else {
            throw FileError(.attributeTooLarge, "\(name) has \(value.count) bytes")
        }
        _ = try rows.attributes(of: number)
        let old = try rows.xattrIfPresent(name, of: number)
        if mode == .create, old != nil { throw FileError(.attributeExists, name) }
        if mode == .replace, old == nil { throw FileError(.noAttribute, name) }
        // Nothing changes, the time of the change neither (`ext4_xattr_value_same` in fs/ext4/xattr.c).
        if old == value { return }
        try rows.execute(Self.writeXattr, number.row, name, Data(value))
        try rows.setChanged(number, now)
        try outbox.enqueueItems(of: number)
    }

    private static let writeXattr = IndexStatement("INSERT OR REPLACE INTO xattrs(inode, name, value) VALUES(?, ?, ?)")

    /// - Throws: `notFound`; `noAttribute`.
    package func removeXattr(_ name: String, of number: InodeNumber) throws {
        _ = try rows.attributes(of: number)
        guard try rows.exists("SELECT 1 FROM xattrs WHERE inode = ? AND name = ?", [number.row, name]) else {
            throw FileError(.noAttribute, name)
        }
        try rows.execute("DELETE FROM xattrs WHERE inode = ? AND name = ?", [number.row, name])
        try rows.setChanged(number, now)
        try outbox.enqueueItems(of: number)
    }
}

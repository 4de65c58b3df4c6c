package import Foundation
import GRDB
package import Model

/// A row of `inodes` without its contents, which are read only where needed.
struct InodeRow {
    var attributes: Attributes
    var isLocal: Bool
    var identity: BackingIdentity?
    var backingModified: Timestamp
    var backingChanged: Timestamp
    var isModified: Bool
    var generation: Int64
    var visited: Int
    var isSettled: Bool
    var target: LinkTarget?

    var number: InodeNumber { attributes.inode }
    var kind: ItemKind { attributes.kind }

    /// `st_blocks` of a file that is not local: the one disk block of 4 KiB that its placeholder takes.
    static func placeholderBlocks(size: Int64) -> Int64 { size > 0 ? 8 : 0 }

    /// `st_size` and `st_blocks` of a directory.
    static let directorySize: Int64 = 4096
    static let directoryBlocks: Int64 = 8

    /// The mode of a new container's root.
    static let rootMode: UInt16 = 0o755
}

extension Rows {
    static let attributeColumns =
        "i.id, i.kind, i.mode, i.owner, i.grp, i.links, i.size, i.blocks, i.accessed, i.modified, i.changed, i.device, "
        + "CASE WHEN i.incoming IS NOT NULL THEN i.local_modified END"
    /// The number of columns in ``attributeColumns``.
    static let attributeColumnCount = 13
    static let inodeColumns =
        "\(attributeColumns), i.local, i.backing, i.born, i.backing_modified, i.backing_changed, i.dirty, i.generation, "
        + "i.visited, i.settled, i.target"
    /// The number of columns in ``inodeColumns``.
    static let inodeColumnCount = 23

    static func attributes(_ row: ResultRow, at column: Int = 0) throws -> Attributes {
        let kindNumber: Int64 = row[column + 1]
        guard let kind = UInt8(exactly: kindNumber).flatMap({ ItemKind(number: $0) }) else {
            throw PackedReader.damaged
        }
        var attributes = Attributes(
            inode: InodeNumber(row: row[column]), kind: kind,
            mode: UInt16(truncatingIfNeeded: row[column + 2] as Int64),
            owner: UInt32(truncatingIfNeeded: row[column + 3] as Int64),
            group: UInt32(truncatingIfNeeded: row[column + 4] as Int64),
            linkCount: UInt32(truncatingIfNeeded: row[column + 5] as Int64), size: row[column + 6],
            blocks: row[column + 7], accessed: Timestamp(rawValue: row[column + 8]),
            modified: Timestamp(rawValue: row[column + 9]), changed: Timestamp(rawValue: row[column + 10]),
            device: UInt64(bitPattern: row[column + 11] as Int64))
        attributes.localModified = (row[column + 12] as Int64?).map(Timestamp.init(rawValue:))
        return attributes
    }

    static func inode(_ row: ResultRow, at column: Int = 0) throws -> InodeRow {
        let backing: Int64? = row[column + 14]
        return InodeRow(
            attributes: try attributes(row, at: column), isLocal: row[column + 13],
            identity: backing.map {
                BackingIdentity(inode: UInt64(bitPattern: $0), born: row[column + 15] as Int64? ?? 0)
            },
            backingModified: Timestamp(rawValue: row[column + 16] as Int64? ?? 0),
            backingChanged: Timestamp(rawValue: row[column + 17] as Int64? ?? 0), isModified: row[column + 18],
            generation: row[column + 19], visited: row[column + 20], isSettled: row[column + 21] as Int64 == 1,
            target: (row[column + 22] as String?).map(LinkTarget.init))
    }

    /// - Throws: `notFound`.
    package func attributes(of number: InodeNumber) throws -> Attributes {
        let found = try first(Self.attributesByNumber, number.row) { try Self.attributes($0) }
        guard let found else { throw FileError(.notFound, "\(number)") }
        return found
    }

    private static let attributesByNumber = IndexStatement("SELECT \(attributeColumns) FROM inodes i WHERE i.id = ?")

    func inodeRow(_ number: InodeNumber) throws -> InodeRow {
        let found = try first(Self.rowByNumber, number.row) { try Self.inode($0) }
        guard let found else { throw FileError(.notFound, "\(number)") }
        return found
    }

    private static let rowByNumber = IndexStatement("SELECT \(inodeColumns) FROM inodes i WHERE i.id = ?")

    /// The row of a regular file.
    func file(_ number: InodeNumber) throws -> InodeRow {
        let row = try inodeRow(number)
        guard row.kind != .directory else { throw FileError(.isDirectory, "\(number)") }
        guard row.kind == .file else { throw FileError(.invalid, "\(number) has no bytes") }
        return row
    }

    /// - Throws: `notFound`.
    package func inode(_ number: InodeNumber) throws -> Inode {
        let found = try first(Self.inodeByNumber, number.row) {
            (try Self.inode($0), $0[Self.inodeColumnCount] as Data?, $0[Self.inodeColumnCount + 1] as Data?)
        }
        guard let (row, content, incoming) = found else { throw FileError(.notFound, "\(number)") }
        return Inode(row, content: content, incoming: incoming)
    }

    private static let inodeByNumber = IndexStatement(
        "SELECT \(inodeColumns), i.content, i.incoming FROM inodes i WHERE i.id = ?")

    /// How often the bytes of a file were changed; `nil` when there is no such inode.
    package func generation(of number: InodeNumber) throws -> Int64? {
        try first("SELECT generation FROM inodes WHERE id = ?", [number.row]) { $0[0] }
    }

    /// Whether the bytes of a file are local, without reading its chunk list.
    /// - Throws: `notFound`.
    package func isLocal(_ number: InodeNumber) throws -> Bool { try inodeRow(number).isLocal }

    /// Whether the bytes of a file are local, and no newer ones are to come.
    package func isCurrent(_ number: InodeNumber) throws -> Bool {
        try first("SELECT local AND incoming IS NULL FROM inodes WHERE id = ?", [number.row]) { $0[0] as Bool } ?? false
    }

    /// The packed contents of an inode: the current and the incoming one.
    func contents(of number: InodeNumber) throws -> (content: Data?, incoming: Data?) {
        try first(Self.contentsByNumber, number.row) { ($0[0], $0[1]) } ?? (nil, nil)
    }

    private static let contentsByNumber = IndexStatement("SELECT content, incoming FROM inodes WHERE id = ?")

    /// Inserts a row; the number in `row` is not used.
    func insert(_ row: InodeRow, content: Data? = nil) throws -> InodeNumber {
        let attributes = row.attributes
        try execute(
            Self.insertRow, Int64(attributes.kind.number), Int64(attributes.mode), Int64(attributes.owner),
            Int64(attributes.group), Int64(attributes.linkCount), attributes.size, attributes.blocks,
            attributes.accessed.rawValue, attributes.modified.rawValue, attributes.changed.rawValue,
            Int64(bitPattern: attributes.device), row.isLocal, row.identity.map { Int64(bitPattern: $0.inode) },
            row.identity?.born, row.backingModified.rawValue, row.backingChanged.rawValue, row.isModified,
            row.generation, row.visited, row.isSettled, row.target?.string, content, attributes.changed.rawValue)
        return InodeNumber(row: database.lastInsertedRowID)
    }

    private static let insertRow = IndexStatement(
        """
        INSERT INTO inodes(kind, mode, owner, grp, links, size, blocks, accessed, modified, changed, device, local, backing,
            born, backing_modified, backing_changed, dirty, generation, visited, settled, target, content, used)
        VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """)

    /// Notes the object in the backing directory for an inode, or that there is none; the previous one is to be
    /// removed.
    func setBacking(_ number: InodeNumber, _ status: BackingStatus?) throws {
        if status == nil { try noteRemoved(number) }
        try execute(
            Self.updateBacking, status.map { Int64(bitPattern: $0.identity.inode) }, status?.identity.born,
            status?.modified.rawValue, status?.changed.rawValue, number.row)
    }

    private static let updateBacking = IndexStatement(
        "UPDATE inodes SET backing = ?, born = ?, backing_modified = ?, backing_changed = ? WHERE id = ?")

    /// Notes the times of the backing file after one of our own calls changed them.
    func setBackingTimes(_ number: InodeNumber, _ status: BackingStatus) throws {
        try execute(Self.updateBackingTimes, status.modified.rawValue, status.changed.rawValue, number.row)
    }

    private static let updateBackingTimes = IndexStatement(
        "UPDATE inodes SET backing_modified = ?, backing_changed = ? WHERE id = ?")

    /// Notes the ctime alone, after one of our own calls that leaves the bytes and their mtime unchanged. The mtime of
    /// writes that the index has not recorded yet stays unknown to it, so that they are recorded later.
    func setBackingChanged(_ number: InodeNumber, _ status: BackingStatus) throws {
        try execute(Self.updateBackingChanged, status.changed.rawValue, number.row)
    }

    private static let updateBackingChanged = IndexStatement("UPDATE inodes SET backing_changed = ? WHERE id = ?")

    /// The change time after a change at ?1. Related: ``ReplicaTransaction/later(than:)``.
    private static let changed =
        "changed = CASE WHEN changed > ?1 AND changed - ?1 < \(DiskClock.tick) THEN changed ELSE ?1 END"

    func setChanged(_ number: InodeNumber, _ time: Timestamp) throws {
        try execute(Self.updateChanged, time.rawValue, number.row)
    }

    private static let updateChanged = IndexStatement("UPDATE inodes SET \(changed) WHERE id = ?2")

    func addLinks(_ number: InodeNumber, _ count: Int, changed: Timestamp) throws {
        try execute(Self.updateLinks, changed.rawValue, number.row, count)
    }

    private static let updateLinks = IndexStatement(
        "UPDATE inodes SET links = links + ?3, \(changed) WHERE id = ?2")

    func deleteInode(_ number: InodeNumber) throws {
        try noteRemoved(number)
        try execute(Self.deleteRow, number.row)
        try execute(Self.deleteXattrs, number.row)
    }

    private static let deleteRow = IndexStatement("DELETE FROM inodes WHERE id = ?")
    private static let deleteXattrs = IndexStatement("DELETE FROM xattrs WHERE inode = ?")

    /// The value of another program's attribute, by its full name.
    /// - Throws: `noAttribute`.
    package func xattr(_ name: String, of number: InodeNumber) throws -> [UInt8] {
        guard let value = try xattrIfPresent(name, of: number) else { throw FileError(.noAttribute, name) }
        return value
    }

    func xattrIfPresent(_ name: String, of number: InodeNumber) throws -> [UInt8]? {
        try first(Self.xattrByName, number.row, name) { Array($0[0] as Data) }
    }

    private static let xattrByName = IndexStatement("SELECT value FROM xattrs WHERE inode = ? AND name = ?")

    package func xattrNames(of number: InodeNumber) throws -> [String] {
        try all(Self.namesOfXattrs, number.row) { $0[0] }
    }

    private static let namesOfXattrs = IndexStatement("SELECT name FROM xattrs WHERE inode = ? ORDER BY name")

    package func xattrs(of number: InodeNumber) throws -> [AttributeName: Data] {
        let pairs = try all("SELECT name, value FROM xattrs WHERE inode = ?", [number.row]) {
            (AttributeName($0[0]), $0[1] as Data)
        }
        return Dictionary(pairs) { $1 }
    }
}

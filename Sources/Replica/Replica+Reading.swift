import GRDB
import Foundation
package import Model
package import Linux

/// The read-only calls: answered from the index alone.
extension Replica {
    /// - Throws: `notFound`.
    package func lookup(_ name: ItemName, in parent: InodeNumber) throws(FileError) -> Attributes {
        guard let found = try read({ try $0.lookup(name, in: parent) }) else {
            throw FileError(.notFound, name.string)
        }
        return found
    }

    /// Whether an item of a name is excluded from sync by the rules.
    package func isLocalOnly(_ name: ItemName, _ sample: ItemSample) throws -> Bool {
        try environment.ignorePatterns.ignores(name, sample)
    }

    package func attributes(of number: InodeNumber) throws(FileError) -> Attributes {
        try read { try $0.attributes(of: number) }
    }

    package func inode(_ number: InodeNumber) throws(FileError) -> Inode { try read { try $0.inode(number) } }

    /// How often the bytes of a file were changed; `nil` when there is no such inode.
    package func generation(of number: InodeNumber) throws(FileError) -> Int64? {
        try read { try $0.first("SELECT generation FROM inodes WHERE id = ?", [number.row]) { $0[0] } }
    }

    /// Whether the bytes of a file are local, without reading its chunk list.
    package func isLocal(_ number: InodeNumber) throws(FileError) -> Bool {
        try read { try $0.inodeRow(number).isLocal }
    }

    /// Whether the bytes of a file are local, and no newer ones are to come.
    package func isCurrent(_ number: InodeNumber) throws(FileError) -> Bool {
        try read { rows in
            try rows.first("SELECT local AND incoming IS NULL FROM inodes WHERE id = ?", [number.row]) { $0[0] as Bool }
        } ?? false
    }

    package func entry(_ name: ItemName, in parent: InodeNumber) throws(FileError) -> Entry {
        guard let entry = try read({ try $0.entry(name, in: parent) }) else { throw FileError(.notFound, name.string) }
        return entry
    }

    /// The names of a file; none once it is unlinked, and none for the root.
    package func entries(of number: InodeNumber) throws(FileError) -> [Entry] {
        try read { try $0.entries(of: number) }
    }

    package func entry(of item: ItemID) throws(FileError) -> Entry? { try read { try $0.entry(of: item) } }

    /// One batch of a listing, sorted by the bytes of the names.
    package func children(
        of directory: InodeNumber, after name: ItemName?, limit: Int
    ) throws(FileError) -> [Child] {
        try read { try $0.children(of: directory, after: name, limit: limit) }
    }

    /// One batch of a listing in the order of the positions, which stay whatever is removed.
    package func children(
        of directory: InodeNumber, after position: Int64, through last: Int64, limit: Int
    ) throws(FileError) -> [PositionedChild] {
        try read { try $0.children(of: directory, after: position, through: last, limit: limit) }
    }

    /// The position of the name that was added last to a directory, or 0.
    package func lastPosition(in directory: InodeNumber) throws(FileError) -> Int64 {
        try read { try $0.lastPosition(in: directory) }
    }

    /// The parent of `directory`; the root is its own parent.
    package func parent(of directory: InodeNumber) throws(FileError) -> InodeNumber {
        try read { try $0.parent(of: directory) }
    }

    /// The path relative to the root, without a leading `/`; for a file with several names the path of the first, for
    /// one without a name `notFound`. As it is shown: see ``ShownPath``.
    package func path(of number: InodeNumber) throws(FileError) -> String {
        try shownPath(of: number).string
    }

    package func shownPath(of number: InodeNumber) throws(FileError) -> ShownPath {
        if number == .root { return .root }
        guard let path = try paths(of: [number])[number] else { throw FileError(.notFound, "\(number)") }
        return path
    }

    /// Resolves a path relative to the root; symbolic links are not followed.
    package func resolve(_ path: String) throws(FileError) -> InodeNumber {
        try readSnapshot { rows in
            guard let inode = try rows.inode(at: path) else { throw FileError(.notFound, path) }
            return inode
        }
    }

    /// How many directories there are between the top-level `Documents` and `directory`: 0 for `Documents` itself.
    /// - Returns: `nil` outside of it.
    package func depthBelowDocuments(of directory: InodeNumber) throws(FileError) -> Int? {
        try readSnapshot { rows in
            var depth = 0
            var current = directory
            while current != .root, depth < Rows.depthLimit {
                guard let entry = try rows.firstEntryRow(of: current) else {
                    throw FileError(.notFound, "\(directory)")
                }
                if entry.parent == .root { return entry.name.string.utf8.elementsEqual("Documents".utf8) ? depth : nil }
                depth += 1
                current = entry.parent
            }
            return nil
        }
    }

    /// Whether an entry is pinned: by its own setting or that of the nearest directory that has one.
    package func isPinned(_ entry: Entry) throws(FileError) -> Bool {
        if let pinned = entry.pinned { return pinned }
        return try isPinned(entry.parent)
    }

    /// Whether an inode is pinned; a file with several names, when one of them is.
    package func isPinned(_ number: InodeNumber) throws(FileError) -> Bool {
        try readSnapshot { rows in try rows.isPinned(number) }
    }

    /// All files below a directory, each once.
    package func filesBelow(_ directory: InodeNumber) throws(FileError) -> [InodeNumber] {
        try readSnapshot { try $0.filesBelow(directory) }
    }

    /// The value of another program's attribute, by its full name.
    /// - Throws: `noAttribute`.
    package func xattr(_ name: String, of number: InodeNumber) throws(FileError) -> [UInt8] {
        guard let value = try read({ try $0.xattr(name, of: number) }) else { throw FileError(.noAttribute, name) }
        return value
    }

    package func xattrNames(of number: InodeNumber) throws(FileError) -> [String] {
        try read { rows in
            try rows.all("SELECT name FROM xattrs WHERE inode = ? ORDER BY name", [number.row]) { $0[0] }
        }
    }

    /// Whether this is the staging file of the download that has begun, and not that of one that has ended.
    package func isStaging(_ file: Descriptor, of number: InodeNumber) throws(FileError) -> Bool {
        let identity = try SystemCalls.status(of: file).identity
        return try read { try $0.transfer(of: number) }?.identity.matches(identity) ?? false
    }

    /// Whether the bytes of a file are requested under one of its names.
    package func isDownloadRequested(_ number: InodeNumber) throws(FileError) -> Bool {
        try read { try $0.exists("SELECT 1 FROM entries WHERE inode = ? AND download_requested = 1", [number.row]) }
    }

    package func requestedDownloads() throws(FileError) -> [InodeNumber] {
        try read { rows in
            try rows.all("SELECT DISTINCT inode FROM entries WHERE download_requested = 1 ORDER BY inode", []) {
                InodeNumber(row: $0[0])
            }
        }
    }

    /// Requested downloads that failed with one of the given fault codes.
    package func requestedDownloads(failedWith codes: Set<Int>) throws(FileError) -> [InodeNumber] {
        try read { rows in
            try rows.all(
                """
                SELECT DISTINCT inode FROM entries WHERE download_requested = 1 AND error IS NOT NULL
                AND json_extract(error, '$.code') IN (SELECT value FROM json_each(?)) ORDER BY inode
                """, ["[\(codes.sorted().map(String.init).joined(separator: ","))]"]
            ) { InodeNumber(row: $0[0]) }
        }
    }

    /// The place of a chunk that is stored in the container already.
    package func chunkLocation(_ hash: ChunkHash) throws(FileError) -> Content.Piece.Stored? {
        try read { rows in
            try rows.first(
                """
                SELECT pack, offset FROM chunks WHERE hash = ?
                AND NOT EXISTS(SELECT 1 FROM condemned WHERE object = pack)
                """, [Data(hash.bytes)]
            ) {
                Content.Piece.Stored(hash: hash, pack: PackID(uuid: $0[0]), offset: $0[1])
            }
        }
    }

    /// The pack of the one-piece file that became known next after those of a pack: files that were uploaded together
    /// became known together, in the same order.
    ///
    /// - Parameter inode: One of the pack's files; ``nextPackLimit`` inodes from there on are examined.
    /// - Returns: `nil` when none of them is in another pack, or not local.
    package func nextPack(after pack: PackID, from inode: InodeNumber) throws(FileError) -> PackID? {
        let contents = try read { rows in
            try rows.all(
                """
                SELECT content FROM inodes WHERE id > ? AND id <= ? AND local = 0 AND content IS NOT NULL AND size <= ?
                ORDER BY id
                """, [inode.row, inode.row + Self.nextPackLimit, Int64(Content.chunkByteCount)]
            ) { $0[0] as Data }
        }
        for content in contents {
            guard case .stored(let next, _, _)? = try Content(packed: content).runs.first else { continue }
            if next != pack { return next }
        }
        return nil
    }

    /// As many files of 64 KiB as fit into a pack.
    private static let nextPackLimit: Int64 = 256
}

extension Rows {
    func isPinned(_ number: InodeNumber) throws -> Bool {
        if number == .root { return try meta(.rootPinned, as: Bool.self) ?? false }
        let places = try all("SELECT parent, pinned FROM entries WHERE inode = ?", [number.row]) {
            (InodeNumber(row: $0[0]), $0[1] as Bool?)
        }
        for (parent, pinned) in places {
            if try pinned ?? isPinned(parent) { return true }
        }
        return false
    }
}

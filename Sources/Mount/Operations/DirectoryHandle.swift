import CFuse
import FileSystem
import Glibc
import Model
import Synchronization

/// An open directory: its names as of the start of the listing.
///
/// Offsets count entries: 1 follows `.`, 2 follows `..`, and so on, so that every offset stays valid for seekdir(3).
/// Reading from offset 0 takes a new snapshot (rewinddir(3)). Both the snapshot and the file system's pages are in byte
/// order of the names.
final class DirectoryHandle: Sendable {
    private static let dotCount = 2

    private let inode: InodeNumber
    private let snapshot = Mutex<[DirectoryName]?>(nil)

    init(inode: InodeNumber) { self.inode = inode }

    /// Writes entries from `offset` on until the buffer is full. Related: readdir(3).
    func list(
        from offset: Int, into page: inout DirectoryPage, fileSystem: FileSystem
    ) throws(FileError) {
        let names = try names(from: offset, fileSystem: fileSystem)
        guard try listDots(from: offset, into: &page, fileSystem: fileSystem) else { return }
        let start = max(0, offset - Self.dotCount)
        for index in start..<max(start, names.count) {
            let name = names[index]
            guard page.add(name.name.string, name.inode, name.kind, next: index + Self.dotCount + 1) else { return }
        }
    }

    /// The same with attributes, which are current; names removed since the snapshot are left out.
    func listWithAttributes(
        from offset: Int, into page: inout DirectoryPage, fileSystem: FileSystem
    ) throws(FileError) {
        let names = try names(from: offset, fileSystem: fileSystem)
        guard try listDots(from: offset, into: &page, fileSystem: fileSystem) else { return }
        var index = max(0, offset - Self.dotCount)
        var last = index > 0 && index <= names.count ? names[index - 1].name : nil
        while index < names.count {
            let limit = min(page.entryLimit, names.count - index)
            guard limit > 0 else { return }
            let children = try fileSystem.children(of: inode, after: last, limit: limit)
            for child in children {
                // Earlier names were removed since the snapshot; this one may have been added since.
                while index < names.count, names[index].name < child.name { index += 1 }
                guard index < names.count else { return }
                guard names[index].name == child.name else { continue }
                guard page.add(child.name.string, child.attributes, next: index + Self.dotCount + 1) else { return }
                index += 1
            }
            // Fewer than requested: the rest of the snapshot was removed.
            guard children.count == limit else { return }
            last = children.last?.name
        }
    }

    private func names(from offset: Int, fileSystem: FileSystem) throws(FileError) -> [DirectoryName] {
        if offset > 0, let names = snapshot.withLock({ $0 }) { return names }
        let names = try fileSystem.names(of: inode)
        snapshot.withLock { $0 = names }
        return names
    }

    /// - Returns: Whether there is room for more entries.
    private func listDots(
        from offset: Int, into page: inout DirectoryPage, fileSystem: FileSystem
    ) throws(FileError) -> Bool {
        if offset < 1, !page.add(".", inode, .directory, next: 1) { return false }
        if offset < 2, !page.add("..", try fileSystem.parent(of: inode), .directory, next: 2) { return false }
        return true
    }
}

/// The reply to one READDIR or READDIRPLUS while it is being filled.
struct DirectoryPage {
    private let request: fuse_req_t
    private let buffer: UnsafeMutableRawBufferPointer
    private let withAttributes: Bool
    private let lifetime: CacheLifetime
    private(set) var byteCount = 0

    init(_ request: Request, _ buffer: UnsafeMutableRawBufferPointer, withAttributes: Bool) {
        self.request = request.pointer
        lifetime = request.session.cacheLifetime
        self.buffer = buffer
        self.withAttributes = withAttributes
    }

    /// The least size of an entry with attributes: `fuse_entry_out` and the head of `fuse_dirent`, in bytes.
    private static let leastEntryByteCount = 152

    /// How many entries with attributes can still fit.
    var entryLimit: Int { (buffer.count - byteCount) / Self.leastEntryByteCount }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer[..<byteCount]) }

    /// - Parameter next: The offset of the entry after this one.
    /// - Returns: Whether the entry fitted.
    mutating func add(_ name: String, _ inode: InodeNumber, _ kind: ItemKind, next: Int) -> Bool {
        var entry = fuse_entry_param()
        entry.attr.st_ino = ino_t(inode.rawValue)
        entry.attr.st_mode = kind.typeBits
        // With the node number 0 the kernel takes only the name and no lookup.
        return add(name, &entry, next: next)
    }

    mutating func add(_ name: String, _ attributes: Attributes, next: Int) -> Bool {
        var entry = fuse_entry_param(attributes, lifetime)
        return add(name, &entry, next: next)
    }

    private mutating func add(_ name: String, _ entry: inout fuse_entry_param, next: Int) -> Bool {
        let room = buffer.count - byteCount
        let start = buffer.baseAddress.map { ($0 + byteCount).assumingMemoryBound(to: CChar.self) }
        let needed =
            withAttributes
            ? fuse_add_direntry_plus(request, start, room, name, &entry, off_t(next))
            : fuse_add_direntry(request, start, room, name, &entry.attr, off_t(next))
        guard needed <= room else { return false }
        byteCount += needed
        return true
    }
}

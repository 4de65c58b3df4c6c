import CFuse
import FileSystem
import Glibc
import Model
import Synchronization

/// An open directory.
///
/// Offsets are the positions of the names, which stay whatever is removed or replaced: they are valid in every handle of the
/// directory, and after the daemon has ended and started again. 1 follows `.`, 2 follows `..`, and what follows a name is
/// its position plus 2. Related: seekdir(3).
final class DirectoryHandle: Sendable {
    private static let dotCount: Int64 = 2
    /// How many entries one query returns at most.
    private static let entriesPerQuery = 256

    private let inode: InodeNumber
    /// The position at which the listing ends; `nil` before it begins.
    private let end = Mutex<Int64?>(nil)

    init(inode: InodeNumber) { self.inode = inode }

    /// Writes entries from `offset` on until the buffer is full; those with attributes are known to the kernel from here
    /// on. Related: readdir(3).
    func list(from offset: Int64, into page: inout DirectoryPage, fileSystem: FileSystem) throws(FileError) {
        let end = try end(from: offset, fileSystem)
        guard try listDots(from: offset, into: &page, fileSystem: fileSystem) else { return }
        var position = max(0, offset - Self.dotCount)
        while position < end {
            let limit = min(page.entryLimit, Self.entriesPerQuery)
            guard limit > 0 else { return }
            let moment = fileSystem.referenceMoment
            let children = try fileSystem.children(
                of: inode, after: position, through: end, limit: limit, isCurrent: page.withAttributes)
            for child in children {
                guard page.add(child, next: child.position + Self.dotCount, fileSystem, since: moment) else { return }
                position = child.position
            }
            guard children.count == limit else { return }
        }
    }

    private func end(from offset: Int64, _ fileSystem: FileSystem) throws(FileError) -> Int64 {
        // Reading from the start begins anew. Related: rewinddir(3).
        if offset > 0, let end = end.withLock({ $0 }) { return end }
        let end = try fileSystem.beginListing(of: inode)
        self.end.withLock { $0 = end }
        return end
    }

    /// - Returns: Whether there is room for more entries.
    private func listDots(
        from offset: Int64, into page: inout DirectoryPage, fileSystem: FileSystem
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
    let withAttributes: Bool
    private let lifetime: CacheLifetime
    private let isPending: Bool
    private(set) var byteCount = 0
    /// The inodes that the kernel gets a reference to with the reply.
    private(set) var referenced: [InodeNumber] = []

    init(_ request: Request, _ buffer: UnsafeMutableRawBufferPointer, withAttributes: Bool) {
        self.request = request.pointer
        lifetime = request.session.currentCacheLifetime
        isPending = request.session.announcer?.isPending ?? false
        self.buffer = buffer
        self.withAttributes = withAttributes
    }

    /// The least size of an entry, in bytes: the head of `fuse_dirent` and one character, and with attributes
    /// `fuse_entry_out`.
    private var leastEntryByteCount: Int { withAttributes ? 160 : 32 }

    /// How many entries can still fit.
    var entryLimit: Int { (buffer.count - byteCount) / leastEntryByteCount }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer[..<byteCount]) }

    /// - Parameters:
    ///   - next: The offset of the entry after this one.
    ///   - moment: When the entry was read, as ``FileSystem/referenceMoment``.
    /// - Returns: Whether the entry fitted.
    mutating func add(
        _ child: PositionedChild, next: Int64, _ fileSystem: FileSystem, since moment: UInt64
    ) -> Bool {
        let attributes = child.attributes
        // A file that was deleted meanwhile is listed by its name, which may be another file's by now.
        // While some names are shown otherwise to the helper that announces changes, nothing is cached.
        guard withAttributes, !isPending, fileSystem.reference(attributes.inode, since: moment) else {
            return add(child.name.string, attributes.inode, attributes.kind, next: next)
        }
        var entry = fuse_entry_param(attributes, lifetime)
        guard add(child.name.string, &entry, next: next) else {
            fileSystem.forget(attributes.inode)
            return false
        }
        referenced.append(attributes.inode)
        return true
    }

    mutating func add(_ name: String, _ inode: InodeNumber, _ kind: ItemKind, next: Int64) -> Bool {
        var entry = fuse_entry_param()
        entry.attr.st_ino = ino_t(inode.rawValue)
        entry.attr.st_mode = kind.typeBits
        // With the node number 0 the kernel takes only the name and no lookup.
        return add(name, &entry, next: next)
    }

    private mutating func add(_ name: String, _ entry: inout fuse_entry_param, next: Int64) -> Bool {
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

import CLinux
import Foundation
import GRDB
import Glibc
import Linux
import Model

/// Gives the index of a new replica the rows of a tree that lies in `files/`: those that it would have if programs had made
/// the items on the mount. No byte is copied, and nothing on the disk is changed.
///
/// Nothing of it was uploaded before it is complete, so that one that was interrupted begins anew.
struct TreeAdoption {
    /// How many items one transaction adds: some megabytes of pages. The identifiers of items are random, so that almost
    /// any number of them changes each page of their tables.
    private static let batchCount = 10_000

    private let taking: TreeTaking
    private var report = AdoptedTree()
    /// Those whose contents are not listed yet.
    private var pending = [Directory(number: .root, identity: nil, path: [])]
    /// The one that is being added, and the rest of it.
    private var directory = Directory(number: .root, identity: nil, path: [])
    private var handle: Descriptor?
    private var info: ParentInfo?
    private var names: ArraySlice<ItemName> = []
    /// Files with several names, by their numbers on the disk.
    private var linked: [UInt64: InodeNumber] = [:]

    private struct Directory {
        let number: InodeNumber
        /// `nil` for `files/` itself.
        let identity: BackingIdentity?
        /// The names from `files/` on, as they are in the tree.
        let path: [String]

        /// - Parameter files: `files/`.
        func open(in files: Descriptor) throws(FileError) -> Descriptor {
            var handle = files
            for name in path {
                handle = try SystemCalls.open(Place(directory: handle, name: name), CLinux_O_PATH | O_DIRECTORY)
            }
            if let identity, let name = path.last, try !SystemCalls.status(of: handle).identity.matches(identity) {
                throw TreeAdoption.replaced(name)
            }
            return handle
        }
    }

    private init(_ taking: TreeTaking) { self.taking = taking }

    /// Adds everything that lies in `files/`.
    ///
    /// - Throws: `notUTF8` and others for what cannot be an item, and the error of what cannot be read.
    ///
    /// - Parameter source: The directory that everything comes from.
    static func run(
        _ taking: TreeTaking, from source: Descriptor, in replica: Replica
    ) throws(FileError) -> AdoptedTree {
        try replica.change(isLong: true) { transaction in
            try transaction.rows.removeAllItems()
            try Self.setRoot(taking, source, transaction)
        }
        var adoption = TreeAdoption(taking)
        var isDone = false
        while !isDone {
            // A change may be tried again, from where it began.
            (adoption, isDone) = try replica.change(isLong: true) { transaction in
                var next = adoption
                let isDone = try next.addBatch(transaction)
                return (next, isDone)
            }
        }
        return adoption.report
    }

    private static func setRoot(
        _ taking: TreeTaking, _ source: Descriptor, _ transaction: ReplicaTransaction
    ) throws {
        var root = try transaction.rows.inodeRow(.root).attributes
        let status = try source.status()
        root.owner = status.owner
        root.group = status.group
        root.mode = taking.mode
        root.modified = taking.modified
        try transaction.update(root)
        try transaction.rows.markShown(.root)
        for name in source.userAttributeNames {
            guard let value = source.extendedAttribute(name) else { continue }
            try transaction.rows.insertXattr(name, value, of: .root)
        }
        try transaction.rows.setMeta(.rootTaken, true)
    }

    /// - Returns: Whether it was the last.
    private mutating func addBatch(_ transaction: ReplicaTransaction) throws -> Bool {
        for _ in 0..<Self.batchCount {
            while names.isEmpty {
                guard let next = pending.popLast() else { return true }
                directory = next
                let opened = try next.open(in: transaction.backing.files)
                handle = opened
                info = try transaction.rows.parentInfo(next.number)
                names = try Self.names(in: opened)[...]
            }
            try add(names.removeFirst(), transaction)
        }
        return false
    }

    private static func names(in handle: Descriptor) throws -> [ItemName] {
        var names: [Result<ItemName, FileError>] = []
        try SystemCalls.forEachName(in: handle) { name, _ in
            let bytes = UnsafeRawBufferPointer(start: name, count: strlen(name))
            names.append(Result { () throws(FileError) in try ItemName(bytes: bytes.bindMemory(to: UInt8.self)) })
        }
        return try names.map { try $0.get() }.sorted { $0.string.utf8.lexicographicallyPrecedes($1.string.utf8) }
    }

    // MARK: Items

    private mutating func add(_ name: ItemName, _ transaction: ReplicaTransaction) throws {
        guard let handle else { preconditionFailure("the directory of a name is open") }
        // An escaped name is given to it once the index has it.
        let place = BackingPlace(directory: handle, name: name.string)
        let status = try SystemCalls.status(place)
        let object = try SystemCalls.entry(place)
        // The owner of one object with the mode of another would be that of neither.
        guard object.inode == status.identity.inode, object.kind == UInt32(status.mode) & S_IFMT else {
            throw Self.replaced(name.string)
        }
        let kind = ItemKind(object)
        report.itemCount += 1
        if kind == .file, status.linkCount > 1, let number = linked[status.identity.inode] {
            return try addName(name, of: number, transaction)
        }
        // Most have none, and are not opened for that.
        let hasAttributes = kind != .symbolicLink && SystemCalls.hasExtendedAttributes(place)
        var row = transaction.row(
            NewItem(
                kind, mode: hasAttributes ? try Self.mode(of: place, status) : status.mode & 0o7777,
                owner: object.owner, group: object.group, device: object.number,
                target: kind == .symbolicLink ? try Self.target(of: place) : nil))
        row.attributes.accessed = status.accessed
        row.attributes.modified = status.modified
        row.attributes.changed = status.changed
        switch kind {
        case .file:
            row.isModified = true
            row.generation = 1
            row.attributes.size = status.size
            row.attributes.blocks = status.blocks
            report.byteCount += status.size
        case .symbolicLink: row.attributes.size = status.size
        // What is in it is on the disk, with its own names.
        case .directory: row.visited = 2
        case .fifo, .socket, .characterDevice, .blockDevice: break
        }
        if kind.liesInFiles { row.stand(on: status) }
        let number = try insert(row, name, at: place, transaction)
        if kind == .directory {
            pending.append(
                Directory(number: number, identity: status.identity, path: directory.path + [name.string]))
        }
        if kind == .file, status.linkCount > 1 { linked[status.identity.inode] = number }
        if hasAttributes, kind == .file || kind == .directory {
            try addAttributes(of: row, number, at: place, transaction)
        }
    }

    /// Without what an access list gives to others: the mount has none, and nobody may more on it than before.
    private static func mode(of place: BackingPlace, _ status: BackingStatus) throws(FileError) -> UInt16 {
        let object = try HeldObject(place)
        guard try SystemCalls.status(of: object.descriptor).identity == status.identity else {
            throw replaced(place.name)
        }
        let mode = status.mode & 0o7777
        return object.accessList?.mode(mode) ?? mode
    }

    /// Whoever had a part of the tree open can still change it.
    private static func replaced(_ name: String) -> FileError {
        FileError(
            .inputOutput, "another program replaced \(name) while it was being taken over; end it, and run this again")
    }

    private static func open(_ place: BackingPlace, of row: InodeRow) throws(FileError) -> Descriptor {
        guard let object = try row.held(at: place) else { throw replaced(place.name) }
        return try object.opened(O_RDONLY | O_NONBLOCK)
    }

    private mutating func insert(
        _ row: InodeRow, _ name: ItemName, at place: BackingPlace, _ transaction: ReplicaTransaction
    ) throws -> InodeNumber {
        let number = try transaction.rows.insert(row)
        let age = max(0, transaction.now.rawValue - row.attributes.changed.rawValue)
        let sample = ItemSample(kind: row.kind, byteCount: row.attributes.size, age: .nanoseconds(age)) {
            guard row.kind == .file else { return nil }
            return try Self.open(place, of: row).read(byteCount: ItemSample.headByteCount, at: 0)
        }
        try addEntry(name, number, sample, transaction)
        if row.kind == .directory { try transaction.rows.addSubdirectory(to: directory.number) }
        return number
    }

    private mutating func addName(
        _ name: ItemName, of number: InodeNumber, _ transaction: ReplicaTransaction
    ) throws {
        try addEntry(name, number, transaction.sample(of: try transaction.rows.inodeRow(number)), transaction)
        try transaction.rows.addName(to: number)
    }

    private mutating func addEntry(
        _ name: ItemName, _ number: InodeNumber, _ sample: ItemSample, _ transaction: ReplicaTransaction
    ) throws {
        let rows = transaction.rows
        guard let info else { preconditionFailure("the directory of a name is open") }
        let isSynced = try transaction.isSynced(sample, name, in: info)
        let item = isSynced ? transaction.environment.makeItemID() : nil
        try rows.insertEntry(name, in: directory.number, inode: number, item: item)
        if let item { try transaction.outbox.enqueue(item) } else { report.unsyncedCount += 1 }
    }

    private func addAttributes(
        of row: InodeRow, _ number: InodeNumber, at place: BackingPlace, _ transaction: ReplicaTransaction
    ) throws {
        let object = try Self.open(place, of: row)
        for name in object.userAttributeNames {
            guard let value = object.extendedAttribute(name) else { continue }
            try transaction.rows.insertXattr(name, value, of: number)
        }
    }

    private static func target(of place: BackingPlace) throws(FileError) -> LinkTarget {
        guard let target = SystemCalls.target(of: place) else {
            throw FileError(.notUTF8, "the target of the symbolic link \(place.name) is not UTF-8")
        }
        return LinkTarget(target)
    }
}

extension ItemKind {
    /// Whether it is in the backing directory; the others are in the index alone.
    fileprivate var liesInFiles: Bool { self == .file || self == .directory || self == .symbolicLink }
}

/// What an adoption has added.
package struct AdoptedTree: Hashable, Sendable {
    package var itemCount = 0
    /// The length of the files, each once.
    package var byteCount: Int64 = 0
    /// What stays on this device.
    package var unsyncedCount = 0
}

extension Rows {
    /// Removes all items, of a replica whose items are known nowhere else.
    func removeAllItems() throws {
        for table in ["entries", "outbox", "xattrs", "removed"] { try execute("DELETE FROM \(table)") }
        try execute("DELETE FROM inodes WHERE id <> 1")
        try execute("UPDATE inodes SET links = 2 WHERE id = 1")
        try setMeta(.rootTaken, nil)
    }

    fileprivate func markShown(_ directory: InodeNumber) throws {
        try execute("UPDATE inodes SET visited = 2 WHERE id = ?", [directory.row])
    }

    /// Without a change of any time.
    fileprivate func addName(to number: InodeNumber) throws { try execute(Self.addLink, number.row) }

    fileprivate func addSubdirectory(to directory: InodeNumber) throws { try execute(Self.addLink, directory.row) }

    private static let addLink = IndexStatement("UPDATE inodes SET links = links + 1 WHERE id = ?")

    fileprivate func insertXattr(_ name: String, _ value: [UInt8], of number: InodeNumber) throws {
        try execute(Self.addXattr, number.row, name, Data(value))
    }

    private static let addXattr = IndexStatement("INSERT INTO xattrs(inode, name, value) VALUES(?, ?, ?)")
}

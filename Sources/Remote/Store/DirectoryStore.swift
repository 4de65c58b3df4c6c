import Glibc
import Model
import Synchronization
import Linux

/// A store in a directory: the object `log/7` is the file `log/7` below the root.
///
///     ROOT/.tmp/UUID       objects being written; never listed
///     ROOT/packs/UUID …    the objects
///
/// Every object is first written to a file in `.tmp` and synced; then ``put(_:_:)`` renames it and ``create(_:_:)``
/// links it to its name, which the file system grants to one caller only, in any process or machine. All state is on
/// disk, so any number of stores may use one directory.
///
/// Whatever the directory contains, nothing outside of it is touched; see ``StoreRoot``.
///
/// The store creates its root, and `.tmp`, only when it is opened. When either is missing later, for example after a
/// disk was unmounted, every call fails with `unavailable`: an empty mount point is not an empty container.
package final class DirectoryStore: ObjectStore {
    /// An absolute path without a slash at its end.
    package let root: String
    /// `false` for a read-only directory: then there is no `.tmp`.
    private let isWritable: Bool
    private let queue: BlockingQueue

    static let temporaryDirectory = ".tmp"

    /// Opens a directory as a store. Blocks for a moment.
    ///
    /// - Parameter createIfMissing: Whether to create the directory (not those above it) and to accept an empty one.
    /// - Throws: ``StoreError`` with `notFound` when there is no such directory or it is empty, `invalid` when that above
    ///   it is missing, `denied` when it is not readable.
    package init(root: String, createIfMissing: Bool) throws(StoreError) {
        self.root = root
        queue = BlockingQueue(name: "dewpoint.store \(root)")
        do throws(FileError) {
            if createIfMissing { try Self.makeRoot(root) }
            // The next commit relies on the contents of the directory, so a disk that is not mounted must not look
            // empty.
            if !createIfMissing, try Self.isEmpty(try StoreRoot(path: root)) {
                throw FileError(FailedCall("readdir", ENOENT))
            }
        } catch {
            guard error.code == .notFound else { throw error.storeError(key: root) }
            guard !createIfMissing else {
                throw StoreError(
                    .invalid, key: root,
                    "\(root) cannot be created: is there the directory \(Self.parent(of: root)), and is its disk mounted?",
                    remedy: .createPlace)
            }
            throw StoreError(
                .notFound, key: root,
                "the directory is missing or empty: is its disk mounted, has a container been created there?")
        }
        do throws(FileError) {
            let opened = try StoreRoot(path: root)
            try opened.makeDirectory(Self.temporaryDirectory)
            try TemporaryFile.removeStale(in: try opened.directory([Self.temporaryDirectory[...]]))
            isWritable = true
        } catch {
            // EPERM: the directory is immutable; see chattr(1).
            guard [.readOnly, .denied, .notPermitted].contains(error.code) else { throw error.storeError(key: root) }
            isWritable = false
        }
    }

    package func get(_ address: ObjectAddress, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        let key = try address.containerKey()
        try ObjectKey.validate(key)
        let (file, range) = try await queue.run { () throws(StoreError) in
            let (file, byteCount) = try self.open(key)
            return (file, range?.clamped(to: 0..<byteCount) ?? 0..<byteCount)
        }
        let position = SharedMutex(Mutex(range.lowerBound))
        return ByteStream(key: key) { [queue] () throws(StoreError) in
            let start = position.value.withLock { $0 }
            guard start < range.upperBound else { return nil }
            let piece = try await queue.run { () throws(StoreError) in
                do throws(FileError) {
                    return try file.read(
                        byteCount: Int(min(range.upperBound - start, Int64(Body.pieceByteCount))), at: start)
                } catch {
                    throw error.storeError(key: key)
                }
            }
            position.value.withLock { $0 += Int64(piece.count) }
            // Objects do not shrink, but the caller that verifies the bytes will detect it and can name the damaged
            // object.
            return piece.isEmpty ? nil : piece
        }
    }

    package func put(_ key: String, _ body: Body) async throws(StoreError) {
        try ObjectKey.validate(key)
        try await queue.run { () throws(StoreError) in try self.write(key, body, replacing: true) }
    }

    package func create(_ key: String, _ body: Body) async throws(StoreError) {
        try ObjectKey.validate(key)
        try await queue.run { () throws(StoreError) in try self.write(key, body, replacing: false) }
    }

    package func list(_ prefix: ObjectAddress, after: String?, limit: Int) async throws(StoreError) -> [ObjectListing] {
        let prefix = try prefix.containerKey()
        return try await queue.run { () throws(StoreError) in
            let objects: [ObjectListing]
            do throws(FileError) {
                var listing = DirectoryListing(
                    root: try StoreRoot(path: self.root), prefix: prefix, after: after,
                    limit: min(limit, ObjectListing.limit))
                objects = try listing.read()
            } catch {
                if error.code == .notFound { try self.checkRoot(key: prefix) }
                throw error.storeError(key: prefix)
            }
            if objects.isEmpty { try self.checkRoot(key: prefix) }
            return objects
        }
    }

    package func delete(_ key: String) async throws(StoreError) {
        try ObjectKey.validate(key)
        // No sync: if a power failure undoes the deletion, the object merely exists again.
        try await queue.run { () throws(StoreError) in
            do throws(FileError) {
                try StoreRoot(path: self.root).place(of: key).remove()
            } catch {
                guard error.code == .notFound || error.code == .notDirectory else { throw error.storeError(key: key) }
                try self.checkRoot(key: key)
            }
        }
    }

    package func head(_ address: ObjectAddress) async throws(StoreError) -> ObjectListing {
        let key = try address.containerKey()
        try ObjectKey.validate(key)
        return try await queue.run { () throws(StoreError) in
            ObjectListing(key: key, byteCount: try self.open(key).byteCount)
        }
    }

    package func changes(prefix: String) -> AsyncStream<Void>? { DirectoryWatch.changes(root: root, prefix: prefix) }

    // MARK: - On the queue's threads

    private func open(_ key: String) throws(StoreError) -> (file: Descriptor, byteCount: Int64) {
        do throws(FileError) {
            return try StoreRoot(path: root).place(of: key).openFile()
        } catch {
            guard error.code == .notFound || error.code == .notDirectory else { throw error.storeError(key: key) }
            try checkRoot(key: key)
            throw StoreError(.notFound, key: key)
        }
    }

    private func write(_ key: String, _ body: Body, replacing: Bool) throws(StoreError) {
        guard isWritable else { throw StoreError(.denied, key: key, "\(root) is read-only") }
        let opened: StoreRoot
        let temporary: TemporaryFile
        do throws(FileError) {
            opened = try StoreRoot(path: root)
            temporary = try TemporaryFile(in: try opened.directory([Self.temporaryDirectory[...]]))
        } catch {
            if error.code == .notFound { try checkRoot(key: key) }
            throw error.storeError(key: key)
        }
        defer { temporary.remove() }
        try body.forEachPiece(key: key) { (piece) throws(StoreError) in
            do throws(FileError) { try temporary.file.append(piece) } catch { throw error.storeError(key: key) }
        }
        do throws(FileError) {
            try temporary.file.synchronize()
            try Self.publish(temporary, at: try Self.place(of: key, in: opened), replacing: replacing)
        } catch {
            if error.code == .notFound { try checkRoot(key: key) }
            throw error.storeError(key: key)
        }
    }

    /// Gives a written file its name, and makes the name durable.
    private static func publish(
        _ temporary: TemporaryFile, at place: StoreRoot.ResolvedPath, replacing: Bool
    ) throws(FileError) {
        do throws(FileError) {
            try temporary.move(to: place, replacing: replacing)
        } catch {
            // The winner may not have synced yet, and the loser relies on the winner's object.
            if error.code == .exists { try place.synchronizeDirectory() }
            throw error
        }
        try place.synchronizeDirectory()
    }

    /// The place of an object to be written; missing parent directories are created.
    private static func place(of key: String, in root: StoreRoot) throws(FileError) -> StoreRoot.ResolvedPath {
        do throws(FileError) {
            return try root.place(of: key)
        } catch {
            guard error.code == .notFound else { throw error }
            return try root.place(of: key, making: true)
        }
    }

    /// - Throws: ``StoreError`` with `unavailable` when the opened directory is missing.
    private func checkRoot(key: String) throws(StoreError) {
        do throws(FileError) {
            let opened = try StoreRoot(path: root)
            if isWritable { _ = try opened.directory([Self.temporaryDirectory[...]]) }
        } catch {
            // A link was refused.
            if error.cause == nil { throw error.storeError(key: key) }
            let sign = isWritable ? "\(root)/\(Self.temporaryDirectory)" : root
            throw StoreError(.unavailable, key: key, "\(sign) is missing: is its disk still mounted?")
        }
    }
}

extension DirectoryStore {
    /// Creates the root, which may exist already, and makes its name durable. Related: `mkdir(2)`.
    private static func makeRoot(_ path: String) throws(FileError) {
        do throws(FileError) {
            guard try SystemCalls.makeDirectory(ifMissing: path, mode: 0o777) else { return }
        } catch {
            // On a read-only disk mkdir(2) may report that first.
            guard error.code == .readOnly, access(path, F_OK) == 0 else { throw error }
            return
        }
        let parent = parent(of: path)
        let directory = try StoreRoot(path: parent)
        try StoreRoot.ResolvedPath(directory: try directory.directory([]), name: "", path: parent)
            .synchronizeDirectory()
    }

    private static func parent(of path: String) -> String {
        let parent = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? "."
        return parent.isEmpty ? "/" : parent
    }

    private static func isEmpty(_ root: StoreRoot) throws(FileError) -> Bool {
        var isEmpty = true
        try DirectoryListing.forEachEntry(in: try root.directory([])) { _, _ in isEmpty = false }
        return isEmpty
    }
}

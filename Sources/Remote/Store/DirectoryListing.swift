import Glibc
import Linux
import Model

/// Finds the first keys of a directory store in the order of their bytes, regardless of the file system's order.
struct DirectoryListing {
    let root: StoreRoot
    let prefix: String
    let after: String?
    let limit: Int

    /// Candidates, at most twice the limit.
    private var keys: [String] = []

    init(root: StoreRoot, prefix: String, after: String?, limit: Int) {
        self.root = root
        self.prefix = prefix
        self.after = after
        self.limit = limit
    }

    mutating func read() throws(FileError) -> [ObjectListing] {
        guard limit > 0 else { return [] }
        // Starts at the directory that the prefix names: one that was replaced is refused rather than skipped.
        try collect(below: prefix.utf8.lastIndex(of: ItemPath.separator).map { String(prefix[...$0]) } ?? "")
        keep()
        var objects: [ObjectListing] = []
        // Sorted keys of one directory are adjacent.
        var last: (key: Substring, directory: Descriptor)?
        for key in keys {
            let parent = key.utf8.lastIndex(of: ItemPath.separator).map { key[..<$0] } ?? ""
            if last.map({ $0.key.isBytewiseEqual(to: parent) }) != true {
                last = try directory(parent).map { (parent, $0) }
            }
            guard let directory = last?.directory else { continue }
            let name = key.droppingBytes(parent.isEmpty ? 0 : parent.utf8.count + 1)
            // Deleted meanwhile, or not created by this store.
            guard let status = StoreRoot.ResolvedPath(directory: directory, name: name, path: key).status(),
                status.kind == S_IFREG
            else { continue }
            objects.append(ObjectListing(key: key, byteCount: status.size))
        }
        return objects
    }

    /// - Returns: `nil` when it was deleted meanwhile.
    private func directory(_ key: Substring) throws(FileError) -> Descriptor? {
        do throws(FileError) { return try root.directory(ItemPath(String(key)).components) } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    /// - Parameter directory: Empty, or a key with a slash at its end.
    private mutating func collect(below directory: String) throws(FileError) {
        var directories: [String] = []
        do throws(FileError) {
            try Self.forEachEntry(in: try root.directory(ItemPath(directory).components)) { name, isDirectory in
                let key = directory + name
                // A name that is no valid key was put there by someone else; skipping it also limits the depth.
                guard ObjectKey.isValid(key) else { return }
                if isDirectory {
                    if mayHoldMatches("\(key)/") { directories.append("\(key)/") }
                } else if matches(key) {
                    keys.append(key)
                    if keys.count >= 2 * limit { keep() }
                }
            }
        } catch {
            // A directory without objects need not exist.
            guard error.code == .notFound else { throw error }
        }
        for directory in directories { try collect(below: directory) }
    }

    /// Whether a key below `directory` can begin with the prefix and come after the key to continue from.
    private func mayHoldMatches(_ directory: String) -> Bool {
        (directory.hasBytePrefix(prefix) || prefix.hasBytePrefix(directory))
            && after.map { $0.hasBytePrefix(directory) || ObjectKey.precedes($0, directory) } ?? true
    }

    private func matches(_ key: String) -> Bool {
        key.hasBytePrefix(prefix) && after.map { ObjectKey.precedes($0, key) } ?? true
    }

    private mutating func keep() {
        keys.sort(by: ObjectKey.precedes)
        keys.removeLast(max(0, keys.count - limit))
    }

    /// Calls `handle` with every name that can be part of a key, and whether it is a directory's. Related:
    /// `readdir(3)`.
    static func forEachEntry(
        in directory: Descriptor, _ handle: (_ name: String, _ isDirectory: Bool) -> Void
    ) throws(FileError) {
        try SystemCalls.forEachName(in: directory) { bytes, type in
            let name = String(cString: bytes)
            guard !name.utf8.starts(with: ".".utf8) else { return }
            handle(name, isDirectory(type, name, in: directory))
        }
    }

    private static func isDirectory(_ type: UInt8, _ name: String, in directory: Descriptor) -> Bool {
        guard type == DT_UNKNOWN else { return type == DT_DIR }
        return (try? SystemCalls.entry(Place(directory: directory, name: name)))?.kind == S_IFDIR
    }
}

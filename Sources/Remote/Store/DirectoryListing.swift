import Glibc
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

    mutating func read() throws(SystemCallFailure) -> [ObjectListing] {
        guard limit > 0 else { return [] }
        // Starts at the directory that the prefix names: one that was replaced is refused rather than skipped.
        try collect(below: prefix.utf8.lastIndex(of: ItemPath.separator).map { String(prefix[...$0]) } ?? "")
        keep()
        var objects: [ObjectListing] = []
        // Sorted keys of one directory are adjacent.
        var last: (key: Substring, directory: OpenFile)?
        for key in keys {
            let parent = key.utf8.lastIndex(of: ItemPath.separator).map { key[..<$0] } ?? ""
            if last.map({ $0.key.isBytewiseEqual(to: parent) }) != true {
                last = try directory(parent).map { (parent, $0) }
            }
            guard let directory = last?.directory else { continue }
            let name = key.droppingBytes(parent.isEmpty ? 0 : parent.utf8.count + 1)
            // Deleted meanwhile, or not created by this store.
            guard let status = StoreRoot.ResolvedPath(directory: directory, name: name, path: key).status(),
                status.st_mode & S_IFMT == S_IFREG
            else { continue }
            objects.append(ObjectListing(key: key, byteCount: Int64(status.st_size)))
        }
        return objects
    }

    /// - Returns: `nil` when it was deleted meanwhile.
    private func directory(_ key: Substring) throws(SystemCallFailure) -> OpenFile? {
        do throws(SystemCallFailure) { return try root.directory(ItemPath(String(key)).components) } catch {
            guard error.number == ENOENT else { throw error }
            return nil
        }
    }

    /// - Parameter directory: Empty, or a key with a slash at its end.
    private mutating func collect(below directory: String) throws(SystemCallFailure) {
        var directories: [String] = []
        do throws(SystemCallFailure) {
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
            guard error.number == ENOENT else { throw error }
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
        in directory: OpenFile, _ handle: (_ name: String, _ isDirectory: Bool) -> Void
    ) throws(SystemCallFailure) {
        // A separate open file, since the stream moves and closes the one that it is given.
        let descriptor = try SystemCallFailure.check("opendir") {
            openat(directory.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        }
        guard let stream = fdopendir(descriptor) else {
            let number = errno
            close(descriptor)
            throw SystemCallFailure(call: "opendir", number: number)
        }
        defer { closedir(stream) }
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw SystemCallFailure(call: "readdir", number: errno) }
                return
            }
            // The declared 256 bytes may reach beyond the entry, so the name is read in place.
            let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
            let name = String(cString: (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self))
            guard !name.utf8.starts(with: ".".utf8) else { continue }
            handle(name, isDirectory(entry.pointee.d_type, name, in: directory))
        }
    }

    private static func isDirectory(_ type: UInt8, _ name: String, in directory: OpenFile) -> Bool {
        guard type == DT_UNKNOWN else { return type == DT_DIR }
        var status = stat()
        return fstatat(directory.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0
            && status.st_mode & S_IFMT == S_IFDIR
    }
}

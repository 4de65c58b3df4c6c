import Glibc

/// Finds the first keys of a directory store in the order of their bytes, whatever order the file system has.
struct DirectoryListing {
    let root: String
    let prefix: String
    let after: String?
    let limit: Int

    /// Candidates, at most twice the limit.
    private var keys: [String] = []

    init(root: String, prefix: String, after: String?, limit: Int) {
        self.root = root
        self.prefix = prefix
        self.after = after
        self.limit = limit
    }

    mutating func read() throws(SystemCallFailure) -> [ObjectListing] {
        guard limit > 0 else { return [] }
        try collect(below: "")
        keep()
        return keys.compactMap { key in
            var status = stat()
            // Deleted meanwhile, or nothing that this store made.
            guard lstat("\(root)/\(key)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            return ObjectListing(key: key, byteCount: Int64(status.st_size))
        }
    }

    /// - Parameter directory: Empty, or a key with a slash at its end.
    private mutating func collect(below directory: String) throws(SystemCallFailure) {
        var directories: [String] = []
        do throws(SystemCallFailure) {
            try Self.forEachEntry(in: "\(root)/\(directory)") { name, isDirectory in
                let key = directory + name
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

    /// Whether a key below `directory` can begin with the prefix and lie after the key to go on behind.
    private func mayHoldMatches(_ directory: String) -> Bool {
        (directory.hasPrefix(prefix) || prefix.hasPrefix(directory))
            && after.map { $0.hasPrefix(directory) || ObjectKey.precedes($0, directory) } ?? true
    }

    private func matches(_ key: String) -> Bool {
        key.hasPrefix(prefix) && after.map { ObjectKey.precedes($0, key) } ?? true
    }

    private mutating func keep() {
        keys.sort(by: ObjectKey.precedes)
        keys.removeLast(max(0, keys.count - limit))
    }

    /// Calls `handle` with every name that can be part of a key, and whether it is a directory's. Related: `readdir(3)`.
    static func forEachEntry(
        in path: String, _ handle: (_ name: String, _ isDirectory: Bool) -> Void
    ) throws(SystemCallFailure) {
        guard let directory = opendir(path) else { throw SystemCallFailure(call: "opendir", number: errno) }
        defer { closedir(directory) }
        while true {
            errno = 0
            guard let entry = readdir(directory) else {
                guard errno == 0 else { throw SystemCallFailure(call: "readdir", number: errno) }
                return
            }
            // The declared 256 bytes may reach beyond the entry, so the name is read where it is.
            let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
            let name = String(cString: (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self))
            guard !name.utf8.starts(with: ".".utf8) else { continue }
            handle(name, isDirectory(entry.pointee.d_type, "\(path)/\(name)"))
        }
    }

    private static func isDirectory(_ type: UInt8, _ path: String) -> Bool {
        guard type == DT_UNKNOWN else { return type == DT_DIR }
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

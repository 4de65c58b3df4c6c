import CLinux
import Glibc
import Model

/// The root directory of a directory store, held open for one operation.
///
/// Every object in the store is reached from this descriptor, one component at a time and never through a symbolic
/// link: whatever else the directory contains, nothing outside of it is read, written or deleted. The path of the root
/// itself is the user's and may contain links. It is opened again for each operation, so that a disk can be unmounted
/// between two of them and is found again later.
struct StoreRoot {
    /// Absolute; for people.
    let path: String
    private let root: OpenFile

    /// A name in an open directory of the store.
    struct ResolvedPath {
        let directory: OpenFile
        let name: String
        /// For people.
        let path: String
    }

    init(path: String) throws(SystemCallFailure) {
        self.path = path
        root = try OpenFile(path: path, flags: CLinux_O_PATH | O_DIRECTORY)
    }

    /// The place of an object.
    ///
    /// - Parameter making: Whether to create missing directories between the root and the object.
    func place(of key: String, making: Bool = false) throws(SystemCallFailure) -> ResolvedPath {
        let components = ItemPath(key).components
        return ResolvedPath(
            directory: try directory(components.dropLast(), making: making), name: String(components.last ?? ""),
            path: "\(path)/\(key)")
    }

    /// Opens a directory below the root, to access its entries, not to list them.
    ///
    /// - Parameter components: Names, none of which contains a slash; empty for the root.
    func directory(
        _ components: some Sequence<Substring>, making: Bool = false
    ) throws(SystemCallFailure) -> OpenFile {
        var place = ResolvedPath(directory: root, name: "", path: path)
        for component in components {
            place = ResolvedPath(
                directory: place.directory, name: String(component), path: "\(place.path)/\(component)")
            if making { try place.makeDirectory() }
            place = ResolvedPath(directory: try place.openDirectory(), name: "", path: place.path)
        }
        return place.directory
    }

    /// Creates a directory in the root that may exist already.
    func makeDirectory(_ name: String) throws(SystemCallFailure) {
        try ResolvedPath(directory: root, name: name, path: "\(path)/\(name)").makeDirectory()
    }
}

extension StoreRoot.ResolvedPath {
    /// Opens the file if it is a regular one. Related: `openat(2)`.
    func openFile() throws(SystemCallFailure) -> (file: OpenFile, byteCount: Int64) {
        // A FIFO must not block the caller.
        let file = try refusingLinks { () throws(SystemCallFailure) in
            try OpenFile(name, in: directory, flags: O_RDONLY | O_NONBLOCK)
        }
        let status = try file.status()
        guard status.st_mode & S_IFMT == S_IFREG else { throw SystemCallFailure(call: "open", number: ENOENT) }
        return (file, Int64(status.st_size))
    }

    fileprivate func openDirectory() throws(SystemCallFailure) -> OpenFile {
        try refusingLinks { () throws(SystemCallFailure) in
            try OpenFile(name, in: directory, flags: CLinux_O_PATH | O_DIRECTORY)
        }
    }

    /// Creates a directory that may exist already, and makes its name durable. Related: `mkdirat(2)`.
    fileprivate func makeDirectory() throws(SystemCallFailure) {
        do throws(SystemCallFailure) {
            _ = try SystemCallFailure.check("mkdir") { mkdirat(directory.descriptor, name, 0o777) }
        } catch {
            // On a read-only disk mkdir(2) may report that first.
            guard error.number == EEXIST || (error.number == EROFS && status() != nil) else { throw error }
            return
        }
        try synchronizeDirectory()
    }

    /// - Returns: `nil` when there is nothing. A symbolic link is not followed. Related: `fstatat(2)`.
    func status() -> stat? {
        var status = stat()
        return fstatat(directory.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
    }

    /// Related: `unlinkat(2)`.
    func remove() throws(SystemCallFailure) {
        _ = try SystemCallFailure.check("unlink") { unlinkat(directory.descriptor, name, 0) }
    }

    /// Flushes the names in the directory to the disk. Related: `fsync(2)`.
    func synchronizeDirectory() throws(SystemCallFailure) {
        let readable = try OpenFile(".", in: directory, flags: O_RDONLY | O_DIRECTORY)
        do throws(SystemCallFailure) { try readable.synchronize() } catch {
            // Some network file systems have no fsync(2) for directories; their names are durable at once.
            guard error.number == EINVAL else { throw error }
        }
    }

    /// Explains a failure that is caused by a symbolic link.
    private func refusingLinks<Value>(
        _ body: () throws(SystemCallFailure) -> Value
    ) throws(SystemCallFailure) -> Value {
        do throws(SystemCallFailure) {
            return try body()
        } catch {
            guard error.number == ELOOP || error.number == ENOTDIR, let found = status(),
                found.st_mode & S_IFMT == S_IFLNK
            else { throw error }
            throw SystemCallFailure(
                call: error.call, number: ELOOP,
                explanation:
                    "\(path) is a symbolic link, which no container has; find out where it came from and remove it")
        }
    }
}

import CLinux
import Glibc
import Linux
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
    private let root: Descriptor

    /// A name in an open directory of the store.
    struct ResolvedPath {
        let directory: Descriptor
        let name: String
        /// For people.
        let path: String

        var place: Place { Place(directory: directory, name: name) }
    }

    init(path: String) throws(FileError) {
        self.path = path
        root = try Descriptor(path, CLinux_O_PATH | O_DIRECTORY)
    }

    /// The place of an object.
    ///
    /// - Parameter making: Whether to create missing directories between the root and the object.
    func place(of key: String, making: Bool = false) throws(FileError) -> ResolvedPath {
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
    ) throws(FileError) -> Descriptor {
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
    func makeDirectory(_ name: String) throws(FileError) {
        try ResolvedPath(directory: root, name: name, path: "\(path)/\(name)").makeDirectory()
    }
}

extension StoreRoot.ResolvedPath {
    /// Opens the file if it is a regular one. Related: `openat(2)`.
    func openFile() throws(FileError) -> (file: Descriptor, byteCount: Int64) {
        // A FIFO must not block the caller.
        let file = try refusingLinks { () throws(FileError) in
            try SystemCalls.open(place, O_RDONLY | O_NONBLOCK)
        }
        let status = try file.status()
        guard status.kind == S_IFREG else { throw FileError(FailedCall("open", ENOENT)) }
        return (file, status.size)
    }

    fileprivate func openDirectory() throws(FileError) -> Descriptor {
        try refusingLinks { () throws(FileError) in
            try SystemCalls.open(place, CLinux_O_PATH | O_DIRECTORY)
        }
    }

    /// Creates a directory that may exist already, and makes its name durable. Related: `mkdirat(2)`.
    fileprivate func makeDirectory() throws(FileError) {
        do throws(FileError) {
            try SystemCalls.makeDirectory(place, mode: 0o777)
        } catch {
            // On a read-only disk mkdir(2) may report that first.
            guard error.code == .exists || (error.code == .readOnly && status() != nil) else { throw error }
            return
        }
        try synchronizeDirectory()
    }

    /// - Returns: `nil` when there is nothing. A symbolic link is not followed. Related: `fstatat(2)`.
    func status() -> ObjectStatus? { try? SystemCalls.entry(place) }

    /// Related: `unlinkat(2)`.
    func remove() throws(FileError) { try SystemCalls.unlink(place) }

    /// Flushes the names in the directory to the disk. Related: `fsync(2)`.
    func synchronizeDirectory() throws(FileError) {
        do throws(FileError) { try SystemCalls.syncDirectory(directory) } catch {
            // Some network file systems have no fsync(2) for directories; their names are durable at once.
            guard error.code == .invalid else { throw error }
        }
    }

    /// Explains a failure that is caused by a symbolic link.
    private func refusingLinks<Value>(
        _ body: () throws(FileError) -> Value
    ) throws(FileError) -> Value {
        do throws(FileError) {
            return try body()
        } catch {
            guard error.number == ELOOP || error.number == ENOTDIR, let found = status(),
                found.kind == S_IFLNK
            else { throw error }
            throw FileError(
                .invalid,
                "\(path) is a symbolic link, which no container has; find out where it came from and remove it")
        }
    }
}

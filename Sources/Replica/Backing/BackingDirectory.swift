import CLinux
import Glibc
import Model
import Synchronization
import Linux

/// The directories on the disk that hold bytes: `files/` and the parts of `staging/`.
///
/// Every directory of the tree is reached through a descriptor of its parent, one component at a time and never through
/// a symbolic link, so no name in a container leads outside, and no path is ever too long. A descriptor follows its
/// directory through renames; that is why the cache is keyed by inode and needs no invalidation when an ancestor moves.
final class BackingDirectory: Sendable {
    let files: Descriptor
    let downloads: Descriptor
    let spare: StagingSpare
    let removed: Descriptor
    let aside: Descriptor

    /// How many directories are kept open at most; fewer where the process may have few descriptors.
    static let handleLimit = 256
    private let handles = Mutex<[InodeNumber: Descriptor]>([:])

    /// Makes fresh names unique.
    let makeNumber: @Sendable () -> UInt64

    init(_ state: ReplicaDirectory, makeNumber: @escaping @Sendable () -> UInt64) throws(FileError) {
        self.makeNumber = makeNumber
        files = try Self.openDirectory(state.files)
        downloads = try Self.openDirectory(state.downloads)
        spare = StagingSpare(directory: downloads)
        removed = try Self.openDirectory(state.removed)
        aside = try Self.openDirectory(state.aside)
    }

    static func openDirectory(_ path: String) throws(FileError) -> Descriptor {
        try Descriptor(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    }

    /// The directory of an inode, or `nil` while it exists only in the index.
    func directory(_ number: InodeNumber, _ rows: Rows) throws -> Descriptor? {
        try directory(number, rows, make: nil)
    }

    /// The directory of an inode, created now if it existed only in the index.
    func directory(_ number: InodeNumber, _ rows: Rows, making changes: BackingChanges) throws -> Descriptor {
        guard let directory = try directory(number, rows, make: changes) else {
            throw FileError(.inputOutput, "cannot create the backing directory of \(number)")
        }
        return directory
    }

    private func directory(_ number: InodeNumber, _ rows: Rows, make changes: BackingChanges?) throws -> Descriptor? {
        var missing: [(number: InodeNumber, name: String)] = []
        var current = number
        var handle = files
        while current != .root {
            if let known = handles.withLock({ $0[current] }) {
                handle = known
                break
            }
            guard missing.count < Rows.depthLimit, let entry = try rows.firstEntryRow(of: current) else {
                throw FileError(.notFound, "\(current)")
            }
            missing.append((current, PlaceholderName.backingName(of: entry.name)))
            current = entry.parent
        }
        for (number, name) in missing.reversed() {
            let place = BackingPlace(directory: handle, name: name)
            guard let next = try open(number, place, rows, make: changes) else { return nil }
            handle = next
            remember(number, next)
        }
        return handle
    }

    private func open(
        _ number: InodeNumber, _ place: BackingPlace, _ rows: Rows, make changes: BackingChanges?
    ) throws -> Descriptor? {
        let row = try rows.inodeRow(number)
        guard row.kind == .directory else { throw FileError(.notDirectory, "\(number)") }
        if let identity = row.identity {
            let handle = try Self.openDirectory(place)
            guard try SystemCalls.status(of: handle).identity.matches(identity) else {
                throw FileError(.inputOutput, "\(place.name) in the backing directory is not the directory we created")
            }
            return handle
        }
        guard let changes else { return nil }
        try changes.makeDirectory(at: place)
        let handle = try Self.openDirectory(place)
        try rows.setBacking(number, try SystemCalls.status(of: handle))
        return handle
    }

    private static func openDirectory(_ place: BackingPlace) throws(FileError) -> Descriptor {
        do {
            return try SystemCalls.open(place, CLinux_O_PATH | O_DIRECTORY)
        } catch  where error.code == .notFound || error.code == .notDirectory {
            throw FileError(.inputOutput, "the directory \(place.name) is missing from the backing directory")
        }
    }

    private func remember(_ number: InodeNumber, _ handle: Descriptor) {
        // Descriptors of the reserve are not kept.
        guard DescriptorReserve.allows(handle) else { return }
        handles.withLock { handles in
            // Any handle will do: a descriptor in use is kept open by its user.
            let limit = min(Self.handleLimit, DescriptorReserve.directoryLimit)
            while handles.count >= limit, let some = handles.keys.first { handles[some] = nil }
            handles[number] = handle
        }
    }

    func forgetHandle(of number: InodeNumber) { handles.withLock { $0[number] = nil } }

    func forgetHandles() { handles.withLock { $0.removeAll() } }
}

extension BackingDirectory {
    /// The place of the bytes of an inode without names.
    func orphanPlace(of number: InodeNumber) -> BackingPlace {
        BackingPlace(directory: removed, name: "\(number.rawValue)")
    }

    /// A fresh place for an object that is to be removed.
    func removedPlace(of number: InodeNumber) -> BackingPlace {
        BackingPlace(directory: removed, name: "\(number.rawValue)-\(makeNumber())")
    }

    /// The place of an entry's own object: file, directory or symbolic link.
    func objectPlace(of entry: EntryRow, _ rows: Rows) throws -> BackingPlace {
        guard let directory = try directory(entry.parent, rows) else {
            throw FileError(.inputOutput, "the directory of \(entry.name) is not in the backing directory")
        }
        return BackingPlace(directory: directory, name: PlaceholderName.backingName(of: entry.name))
    }

    /// The place of the object of an inode: under its first name, or among the removed.
    func objectPlace(of number: InodeNumber, _ rows: Rows) throws -> BackingPlace {
        guard let entry = try rows.firstEntryRow(of: number) else { return orphanPlace(of: number) }
        return try objectPlace(of: entry, rows)
    }
}

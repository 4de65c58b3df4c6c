import CLinux
import Glibc
import Linux
import Model

/// The contents of the state directory as repair found them: every directory, and every file by its identity.
///
/// Directories are nodes that know their parent, so a place stays valid when a directory above it is moved.
final class RepairTree {
    /// A name in a directory.
    struct EntryKey: Hashable {
        var node: Int
        var key: DiskName

        var name: String { key.string }

        init(node: Int, name: String) {
            self.node = node
            key = DiskName(string: name)
        }
    }

    struct Node {
        var place: EntryKey
        var identity: BackingIdentity
        /// The corresponding directory in the index; `nil` while unknown.
        var inode: InodeNumber?
        var directories: [DiskName: Int] = [:]
    }

    /// A regular file that is not a placeholder.
    struct Found {
        var status: BackingStatus
        var places: [EntryKey]
        /// Whether it belongs to an inode or a transfer of the index.
        var isClaimed = false
    }

    static let files = 0
    static let removed = 1
    static let aside = 2
    static let downloads = 3

    private(set) var nodes: [Node] = []
    /// By inode number on the disk, which is unique among existing files.
    var found: [UInt64: Found] = [:]
    private(set) var nodeOfIdentity: [UInt64: Int] = [:]
    private(set) var placeholders: [EntryKey] = []
    private(set) var symbolicLinks: [(place: EntryKey, status: BackingStatus)] = []
    private(set) var others: [EntryKey] = []
    /// The former places of the objects in `staging/aside`.
    private(set) var origins: [EntryKey: EntryKey] = [:]

    private let roots: [Descriptor]
    private let makeNumber: @Sendable () -> UInt64
    private var handles: [Int: Descriptor] = [:]
    private static let handleLimit = 256

    init(_ backing: BackingDirectory) throws(FileError) {
        roots = [backing.files, backing.removed, backing.aside, backing.downloads]
        makeNumber = backing.makeNumber
        for root in roots.indices {
            nodes.append(
                Node(
                    place: EntryKey(node: -1, name: ""), identity: try SystemCalls.status(of: roots[root]).identity)
            )
        }
        nodes[Self.files].inode = .root
        var unread = Array(roots.indices)
        while let node = unread.popLast() { unread += try read(node) }
    }

    /// - Returns: Its subdirectories.
    private func read(_ node: Int) throws(FileError) -> [Int] {
        var inner: [Int] = []
        for name in try SystemCalls.names(in: try open(node)) {
            let place = EntryKey(node: node, name: name)
            guard let status = try SystemCalls.statusIfPresent(try backingPlace(place)) else { continue }
            if status.isDirectory {
                inner.append(add(place, status.identity))
            } else if status.isSymbolicLink {
                symbolicLinks.append((place, status))
            } else if status.isFile {
                try add(file: place, status)
            } else {
                others.append(place)
            }
        }
        return inner
    }

    private func add(file place: EntryKey, _ status: BackingStatus) throws(FileError) {
        if PlaceholderName.looksLikePlaceholder(place.name), try PlaceholderFile.read(try backingPlace(place)) != nil {
            placeholders.append(place)
        } else {
            found[status.identity.inode, default: Found(status: status, places: [])].places.append(place)
        }
    }

    private func add(_ place: EntryKey, _ identity: BackingIdentity) -> Int {
        let node = nodes.count
        nodes.append(Node(place: place, identity: identity))
        nodes[place.node].directories[place.key] = node
        nodeOfIdentity[identity.inode] = node
        return node
    }

    /// The file with an identity that the index remembers.
    func file(_ identity: BackingIdentity) -> Found? {
        guard let file = found[identity.inode], file.status.identity.matches(identity) else { return nil }
        return file
    }

    func directory(_ identity: BackingIdentity) -> Int? {
        guard let node = nodeOfIdentity[identity.inode], nodes[node].identity.matches(identity) else { return nil }
        return node
    }

    func setInode(_ inode: InodeNumber, of node: Int) { nodes[node].inode = inode }

    func open(_ node: Int) throws(FileError) -> Descriptor {
        if node < roots.count { return roots[node] }
        if let handle = handles[node] { return handle }
        let handle = try SystemCalls.open(try backingPlace(nodes[node].place), CLinux_O_PATH | O_DIRECTORY)
        if handles.count >= Self.handleLimit { handles.removeAll() }
        handles[node] = handle
        return handle
    }

    func backingPlace(_ place: EntryKey) throws(FileError) -> BackingPlace {
        BackingPlace(directory: try open(place.node), name: place.name)
    }

    /// Whether a place is in `files/`.
    func isInFiles(_ place: EntryKey) -> Bool {
        var node = place.node
        while node >= roots.count { node = nodes[node].place.node }
        return node == Self.files
    }
}

extension RepairTree {
    /// The path of a place relative to the state directory, for people.
    func path(_ place: EntryKey) -> String {
        var names = [place.name]
        var node = place.node
        while node >= 0 {
            switch node {
            case Self.files: names.append("files")
            case Self.removed: names.append("staging/removed")
            case Self.aside: names.append("staging/aside")
            case Self.downloads: names.append("staging/downloads")
            default: names.append(nodes[node].place.name)
            }
            node = nodes[node].place.node
        }
        return names.reversed().joined(separator: "/")
    }
}

// MARK: Moving

extension RepairTree {
    /// Creates a directory; an object in its place is moved aside.
    func makeDirectory(_ place: EntryKey) throws(FileError) -> Int {
        try clear(place)
        let target = try backingPlace(place)
        try SystemCalls.makeDirectory(target)
        return add(place, try SystemCalls.status(target).identity)
    }

    /// - Throws: `notEmpty`.
    func removeDirectory(_ node: Int) throws(FileError) {
        let place = nodes[node].place
        try SystemCalls.unlink(try backingPlace(place), directory: true)
        nodes[place.node].directories[place.key] = nil
    }

    /// Creates an empty file, which counts as claimed.
    /// - Returns: Its inode number on the disk.
    func makeFile(_ place: EntryKey, mode: UInt16) throws(FileError) -> UInt64 {
        try clear(place)
        let target = try backingPlace(place)
        let status = try SystemCalls.status(of: try SystemCalls.create(target, mode: mode))
        found[status.identity.inode] = Found(status: status, places: [place], isClaimed: true)
        return status.identity.inode
    }

    func moveDirectory(_ node: Int, to place: EntryKey) throws(FileError) {
        try clear(place)
        let old = nodes[node].place
        try SystemCalls.rename(try backingPlace(old), to: try backingPlace(place))
        nodes[old.node].directories[old.key] = nil
        nodes[place.node].directories[place.key] = node
        nodes[node].place = place
    }

    /// Moves one name of a file.
    func moveFile(_ inode: UInt64, from old: EntryKey, to place: EntryKey) throws(FileError) {
        try clear(place)
        try SystemCalls.rename(try backingPlace(old), to: try backingPlace(place))
        found[inode]?.places.removeAll { $0 == old }
        found[inode]?.places.append(place)
    }

    func linkFile(_ inode: UInt64, from old: EntryKey, to place: EntryKey) throws(FileError) {
        try clear(place)
        try SystemCalls.link(try backingPlace(old), as: try backingPlace(place))
        found[inode]?.places.append(place)
    }

    func unlinkFile(_ inode: UInt64, _ place: EntryKey) throws(FileError) {
        try SystemCalls.unlink(try backingPlace(place))
        found[inode]?.places.removeAll { $0 == place }
    }

    /// Moves the object at a place to `staging/aside`, where nothing is deleted automatically.
    func clear(_ place: EntryKey) throws(FileError) {
        guard let status = try SystemCalls.statusIfPresent(try backingPlace(place)) else { return }
        var shortened = place.name.unicodeScalars
        while String(shortened).utf8.count > Self.asideNameLimit { shortened.removeLast() }
        let name = "\(makeNumber())-\(String(shortened))"
        let aside = EntryKey(node: Self.aside, name: name)
        origins[aside] = place
        if status.isDirectory, let node = nodes[place.node].directories[place.key] {
            return try moveDirectory(node, to: aside)
        }
        try SystemCalls.rename(try backingPlace(place), to: try backingPlace(aside))
        if status.isFile {
            found[status.identity.inode]?.places.removeAll { $0 == place }
            found[status.identity.inode]?.places.append(aside)
            placeholders.removeAll { $0 == place }
        } else if let index = symbolicLinks.firstIndex(where: { $0.place == place }) {
            symbolicLinks[index].place = aside
        }
    }

    /// Room for the random number before a name.
    private static let asideNameLimit = 200
}

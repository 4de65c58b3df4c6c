import FileSystem
import Model
import Replica
import Synchronization

/// The claims that the programs of one device hold, and what they rely on: nobody else changes what is claimed.
final class HeldClaims: Sendable {
    /// A claim from its grant to its end.
    struct Claim: Sendable {
        let holder: String
        let name: UInt64
        let granted: Duration
        /// Not for a batch, which holds nobody off, nor for a claim with a purpose, which others may share.
        let isExclusive: Bool
        var items: [Item]
    }

    /// A claimed item. It is followed through moves and saves.
    struct Item: Sendable {
        let isWritten: Bool
        /// Whether it holds others off what is in the directory.
        let isDeep: Bool
        var item: ItemID?
        var inode: InodeNumber?
        let place: ResolvedPath
        /// What a file shows, from the grant or from the last change of the holder on; `nil` when there is none, and
        /// while newer bytes are to come.
        var shown: FileContent?
    }

    private let state = Mutex<[Claim]>([])

    var all: [Claim] { state.withLock { $0 } }

    func claims(of holder: String) -> [Claim] { all.filter { $0.holder == holder } }

    /// Notes a grant.
    ///
    /// - Throws: ``Violation`` when another program holds a claim that excludes it.
    func begin(_ claim: Claim, on device: SimulatedDevice) throws {
        for other in all where other.holder != claim.holder && other.isExclusive && claim.isExclusive {
            for mine in claim.items {
                for theirs in other.items where mine.isWritten || theirs.isWritten {
                    guard try isOne(mine, theirs, on: device) else { continue }
                    throw Violation(
                        """
                        \(device.name): claim \(claim.name) of \(claim.holder) is granted while \(other.holder) holds \
                        claim \(other.name) of \(mine.place.name.map { "\($0)" } ?? "the root")
                        """)
                }
            }
        }
        state.withLock { $0.append(claim) }
    }

    func end(_ name: UInt64, of holder: String) {
        state.withLock { $0.removeAll { $0.holder == holder && $0.name == name } }
    }

    func endAll() { state.withLock { $0 = [] } }

    // MARK: Checking

    /// - Throws: ``Violation`` when somebody else changed what a program has claimed.
    func check(_ holder: String, on device: SimulatedDevice) throws {
        for claim in claims(of: holder) where claim.isExclusive {
            for item in claim.items {
                guard let wanted = item.shown else { continue }
                let shown = try content(of: item, on: device)
                guard shown != wanted else { continue }
                throw Violation(
                    """
                    \(device.name): \(item.place.name.map { "\($0)" } ?? "") changed under claim \(claim.name) of \
                    \(holder): it should show \(wanted), and shows \(shown.map { "\($0)" } ?? "nothing")
                    """)
            }
        }
    }

    /// Notes that the holder changed something itself.
    func refresh(_ holder: String, on device: SimulatedDevice) throws {
        let claims = try claims(of: holder).map { claim in
            var claim = claim
            for index in claim.items.indices {
                // What came to a claimed place is followed as the item that is there.
                if claim.items[index].item == nil, claim.items[index].inode == nil {
                    claim.items[index].item = try itemID(at: claim.items[index].place, on: device)
                }
                claim.items[index].shown = try content(of: claim.items[index], on: device)
                claim.items[index].inode = try inode(of: claim.items[index], on: device)
            }
            return claim
        }
        state.withLock { state in
            for claim in claims {
                guard let index = state.firstIndex(where: { $0.holder == holder && $0.name == claim.name }) else {
                    continue
                }
                state[index] = claim
            }
        }
    }

    /// The claims of other programs that hold a change of a file's bytes off.
    func others(of program: String, changing number: InodeNumber, on device: SimulatedDevice) throws -> [Claim] {
        let place = try device.fileSystem.replica.read { try $0.resolvedPath(of: number) }
        return try others(of: program) { item in
            guard let inode = try inode(of: item, on: device) else { return false }
            return inode == number || (item.isDeep && place.directories.contains { $0.inode == inode })
        }
    }

    /// The claims of other programs that forbid moving or removing an item.
    ///
    /// - Parameters:
    ///   - name: Which of its names it is: another one may be in another directory.
    func others(
        of program: String, moving number: InodeNumber, named name: ItemName, in parent: InodeNumber,
        on device: SimulatedDevice
    ) throws -> [Claim] {
        let replica = try device.fileSystem.replica
        let place = try replica.read { try $0.resolvedPath(of: name, in: parent) }
        return try others(of: program) { item in
            guard let inode = try inode(of: item, on: device) else { return false }
            if inode == number || (item.isDeep && place.directories.contains { $0.inode == inode }) { return true }
            return try path(of: item, on: device).directories.contains { $0.inode == number }
        }
    }

    private func others(of program: String, _ isConcerned: (Item) throws -> Bool) throws -> [Claim] {
        try all.filter { claim in
            try claim.holder != program && claim.isExclusive && claim.items.contains(where: isConcerned)
        }
    }

    /// How long a claim waits for writes that have begun: the limit of a turn.
    static let patience = Duration.seconds(30)

    // MARK: Items

    /// Whether a claim of one item excludes one of the other.
    private func isOne(_ left: Item, _ right: Item, on device: SimulatedDevice) throws -> Bool {
        let (one, other) = (try inode(of: left, on: device), try inode(of: right, on: device))
        guard let first = one, let second = other else {
            // What has moved away is not at a place where nothing is.
            return one == nil && other == nil && left.place.name == right.place.name
                && left.place.directories == right.place.directories
        }
        if first == second { return true }
        return try (left.isDeep && path(of: right, on: device).directories.contains { $0.inode == first })
            || (right.isDeep && path(of: left, on: device).directories.contains { $0.inode == second })
    }

    private func itemID(at place: ResolvedPath, on device: SimulatedDevice) throws -> ItemID? {
        guard let name = place.name, let parent = place.directories.last?.inode else { return nil }
        return try device.fileSystem.replica.read { replica in
            try replica.resolvedPath(of: name, in: parent).inode == nil
                ? nil : replica.existingEntry(name, in: parent).item
        }
    }

    /// Where the item is: of a file with several names, at the one that was claimed.
    private func path(of item: Item, on device: SimulatedDevice) throws -> ResolvedPath {
        try device.fileSystem.replica.read { replica in
            if let id = item.item, let entry = try replica.entry(of: id) {
                return try replica.resolvedPath(of: entry.name, in: entry.parent)
            }
            return try item.inode.map { try replica.resolvedPath(of: $0) } ?? item.place
        }
    }

    /// The inode that the item has now: sync and saves give it others.
    func inode(of item: Item, on device: SimulatedDevice) throws -> InodeNumber? {
        let replica = try device.fileSystem.replica
        if let id = item.item, let entry = try replica.read({ try $0.entry(of: id) }) { return entry.inode }
        if let inode = item.inode, try replica.read({ try $0.resolvedPath(of: inode).name }) != nil { return inode }
        guard let name = item.place.name, let parent = item.place.directories.last?.inode else { return nil }
        return try replica.read { try $0.resolvedPath(of: name, in: parent).inode }
    }

    func content(of item: Item, on device: SimulatedDevice) throws -> FileContent? {
        guard let inode = try inode(of: item, on: device),
            try device.fileSystem.replica.read({ try $0.attributes(of: inode).kind }) == .file
        else { return nil }
        // Older bytes, until newer ones arrive.
        guard try !device.fileSystem.replica.read({ try $0.inode(inode).hasIncoming }) else { return nil }
        return try device.content(of: inode)
    }
}

package import FileSystem
package import Model
import Replica

/// The lines of one client of ``FollowRequest``: the items at and below a path, then every change of them.
///
/// What the client knows is always what the index had at some moment, as far as it was listed: before the lines of a
/// page are published, so are the changes of names that the page reflects (``ItemPage/sequence``), in their order.
/// States are read when a line is made, so they never go backwards.
package struct ItemFeed: Sendable {
    /// How many items one answer of ``next()`` takes at most, apart from the few that come with changed settings.
    static let batchLimit = 256

    private let fileSystem: FileSystem
    private let changes: FollowedChanges
    private let follower: UInt64
    private var cursor: ListingCursor
    /// A page that was read and is to be published after ``places``.
    private var page: ItemPage?
    private var places: ArraySlice<PlaceChange> = []
    /// Where items were published to be since the page was read: its state of them is older.
    private var placesSincePage: [InodeNumber: String] = [:]
    private var hasTop = false
    private var isGathered = false
    private var count = 0

    private var replica: Replica { fileSystem.replica }

    /// Begins with the items at and below a path, until ``end()``.
    ///
    /// - Throws: ``FileError`` with `busy` at the limit of clients.
    package init(_ fileSystem: FileSystem, below path: String) throws(FileError) {
        self.fileSystem = fileSystem
        (changes, follower) = try fileSystem.followers.add(path)
        fileSystem.transfers.wake()
        cursor = ListingCursor(below: changes.top)
    }

    /// Ends it: ``next()`` throws from now on.
    package func end() { fileSystem.followers.remove(follower) }

    /// A function that ends the wait of ``next()``, for another task.
    package var stop: @Sendable () -> Void { { [changes] in changes.finish() } }

    /// Returns once the client is too far behind, or the task is cancelled.
    package var overflow: @Sendable () async -> Void {
        { [changes] in await changes.waitForOverflow() }
    }

    /// The next lines, at least one; waits until there are any.
    ///
    /// - Throws: ``FileError`` with `busy` when the client is too far behind, `interrupted` when the task is cancelled or
    ///   the feed was ended.
    package mutating func next() async throws(FileError) -> [ItemUpdate] {
        while true {
            let lines = try await step()
            if !lines.isEmpty { return lines }
        }
    }

    private mutating func step() async throws(FileError) -> [ItemUpdate] {
        if !hasTop {
            hasTop = true
            return try topLines()
        }
        if !places.isEmpty {
            let batch = places.prefix(Self.batchLimit)
            places = places.dropFirst(Self.batchLimit)
            return try lines(for: batch)
        }
        if let page {
            self.page = nil
            return try lines(of: page)
        }
        if isGathered, cursor.isAtEnd {
            places = changes.takePlaces(through: .max)[...]
            if !places.isEmpty { return [] }
        }
        let stateLines = try takeStates()
        if !stateLines.isEmpty { return stateLines }
        if !cursor.isAtEnd {
            let page = try replica.read { try $0.nextPage(&cursor, limit: Self.batchLimit) }
            // Its transaction was committed, and publishes its changes in a moment.
            while !changes.hasReached(page.sequence) { try await waitForChanges() }
            places = changes.takePlaces(through: page.sequence)[...]
            self.page = page
            placesSincePage = [:]
            return []
        }
        if !isGathered {
            isGathered = true
            return [.gathered(count: count)]
        }
        try await waitForChanges()
        return []
    }

    private mutating func waitForChanges() async throws(FileError) {
        guard await changes.wait() else {
            throw changes.isOverflown
                ? FileError(
                    .busy,
                    "the client does not read: more than \(FollowedChanges.limit) changes, or "
                        + "\(FollowedChanges.byteLimit >> 20) MiB of paths, wait")
                : FileError(.interrupted, "nothing more is published")
        }
    }

    // MARK: Lines

    /// The item at the path, if there is one; what is in it follows.
    private mutating func topLines() throws(FileError) -> [ItemUpdate] {
        guard let facts = try replica.read({ try $0.facts(at: changes.top) }) else { return [] }
        if facts.attributes.kind == .directory { cursor.add(facts.attributes.inode) }
        if !isGathered { count += 1 }
        return [.item(try ItemStates(fileSystem).status(of: facts))]
    }

    private mutating func lines(of page: ItemPage) throws(FileError) -> [ItemUpdate] {
        if !isGathered { count += page.items.count }
        var lines: [ItemUpdate] = []
        for facts in page.items {
            if let path = placesSincePage[facts.attributes.inode], path.utf8.elementsEqual(facts.path.utf8) { continue }
            lines.append(.item(try ItemStates(fileSystem).status(of: facts)))
        }
        return lines
    }

    private mutating func lines(for batch: ArraySlice<PlaceChange>) throws(FileError) -> [ItemUpdate] {
        let inside = batch.filter { change in change.to.map { changes.position(of: $0.string) == .inside } ?? false }
        // Published here.
        for change in inside { changes.forget(change.inode) }
        // In one read, which looks at each of the directories above them once.
        let names = Dictionary(grouping: try replica.read { try $0.facts(of: Set(inside.map(\.inode))) }) {
            $0.attributes.inode
        }
        for (inode, facts) in names where facts.count > 1 { changes.add([inode]) }
        var lines: [ItemUpdate] = []
        for change in batch { lines += try self.lines(for: change, names[change.inode] ?? []) }
        return lines
    }

    /// - Parameter names: The item's names and state now.
    private mutating func lines(for change: PlaceChange, _ names: [ItemFacts]) throws(FileError) -> [ItemUpdate] {
        let (old, new) = (change.from?.string, change.to?.string)
        let from = old.map { changes.position(of: $0) } ?? .outside
        let to = new.map { changes.position(of: $0) } ?? .outside
        switch (from, to) {
        case (_, .inside):
            guard let to = new, let status = try status(of: names, at: to) else {
                // It has moved on, or was removed.
                return from == .inside ? old.map { [.removed(path: $0)] } ?? [] : []
            }
            // What came with a directory from elsewhere, or from where nothing was listed yet, is listed.
            if status.kind == .directory, from != .inside || !cursor.isAtEnd || page != nil { cursor.add(change.inode) }
            placesSincePage[change.inode] = to
            if from == .inside, let from = old { return [.moved(from: from, status)] }
            return [.item(status)]
        case (.inside, _): return old.map { [.removed(path: $0)] } ?? []
        case (.above, _): return [.removed(path: changes.top)]
        case (_, .above): return try topLines()
        case (.outside, .outside): return []
        }
    }

    /// The state of an item, under the path that it had when it got there.
    private func status(of names: [ItemFacts], at path: String) throws(FileError) -> ItemStatus? {
        let name = ItemPath(path).last.map(String.init) ?? ""
        let facts =
            names.first { $0.path.utf8.elementsEqual(path.utf8) }
            ?? names.first { $0.entry?.name.string.utf8.elementsEqual(name.utf8) ?? false } ?? names.first
        guard let facts else { return nil }
        var status = try ItemStates(fileSystem).status(of: facts)
        status.path = path
        return status
    }

    /// The new states of some of the items that changed.
    private mutating func takeStates() throws(FileError) -> [ItemUpdate] {
        var inodes = changes.takeInodes(limit: Self.batchLimit)
        for inode in changes.takeInherited() {
            inodes.append(inode)
            try listAgain(inode)
        }
        guard !inodes.isEmpty else { return [] }
        return try replica.read { try $0.facts(of: inodes) }.filter { changes.position(of: $0.path) == .inside }
            .map { facts throws(FileError) in .item(try ItemStates(fileSystem).status(of: facts)) }
    }

    /// Lists what inherits the settings of an item.
    private mutating func listAgain(_ inode: InodeNumber) throws(FileError) {
        guard let facts = try replica.read({ try $0.facts(of: [inode]).first }), facts.attributes.kind == .directory
        else { return }
        switch changes.position(of: facts.path) {
        case .inside: cursor.add(inode)
        case .above:
            guard let top = try replica.read({ try $0.facts(at: changes.top) }) else { return }
            changes.add([top.attributes.inode])
            if top.attributes.kind == .directory { cursor.add(top.attributes.inode) }
        case .outside: return
        }
    }
}

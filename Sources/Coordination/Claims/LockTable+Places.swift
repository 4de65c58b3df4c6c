package import Model

/// The locations of written files, and the claims that hold the next writer off.
extension LockTable {
    /// The answer to ``ClaimEffect/locate(_:)``: the locations of files. A file that no longer has a name is an orphan.
    package mutating func located(_ found: [InodeNumber: ClaimItem], now: Instant) -> [Effect] {
        var effects: [Effect] = []
        guard !claims.hasNoSets else { return effects }
        for (inode, item) in found where orders[inode] != nil && places[inode] == nil { places[inode] = item }
        claims.gatesAreStale = true
        advance(now: now, &effects)
        return effects
    }

    /// An item was renamed or moved to another place, possibly replacing another item.
    ///
    /// Claims and presenters follow, with those of everything inside it; a claim `forReplacing` stays with the place.
    /// Claims of the replaced item now concern the new one, as after an atomic save.
    ///
    /// - Parameters:
    ///   - isSameItem: Whether it is the same item, with other bytes.
    ///   - names: All names that both files have by now. Claims and presenters of one of them stay there.
    package mutating func moved(
        _ inode: InodeNumber, to item: ClaimItem, replacing replaced: InodeNumber? = nil, isSameItem: Bool = false,
        names: [ClaimItem] = [], now: Instant
    ) -> [Effect] {
        if let replaced, let place = places[replaced], isSameItem || place.isAt(item) {
            places[replaced] = Self.place(of: replaced, among: names)
        }
        for (file, place) in places { places[file] = place.following(inode, to: item, names: names) }
        claims.follow {
            $0.following(inode, to: item, names: names)
                .meeting(item, inPlaceOf: replaced, isSameItem: isSameItem, names: names)
        } fixed: {
            $0.staying(inode, names: names)
                .meeting(item, inPlaceOf: replaced, isSameItem: isSameItem, names: names)
        }
        return renewed(now: now)
    }

    /// An item appeared at an empty place: claims and presenters of that place now concern the item.
    package mutating func appeared(_ item: ClaimItem, now: Instant) -> [Effect] {
        claims.follow {
            $0.meeting(item, inPlaceOf: nil)
        } fixed: {
            $0.meeting(item, inPlaceOf: nil)
        }
        return renewed(now: now)
    }

    /// An item lost a name: its claims and presenters wait for the next item at that place.
    ///
    /// - Parameter names: Those that the file still has: claims and presenters of them stay with it.
    package mutating func disappeared(_ inode: InodeNumber, names: [ClaimItem] = [], now: Instant) -> [Effect] {
        if places[inode] != nil { places[inode] = Self.place(of: inode, among: names) }
        claims.follow {
            $0.staying(inode, names: names)
        } fixed: {
            $0.staying(inode, names: names)
        }
        return renewed(now: now)
    }

    private static func place(of file: InodeNumber, among names: [ClaimItem]) -> ClaimItem {
        names.first { $0.inode == file } ?? ClaimItem(orphan: file)
    }

    private mutating func renewed(now: Instant) -> [Effect] {
        var effects: [Effect] = []
        advance(now: now, &effects)
        return effects
    }
}

extension LockTable {
    /// Moves the order of a file out of the table; a fresh one gets the gates that apply to it.
    mutating func take(_ inode: InodeNumber, _ context: WriterContext?, now: Instant) -> WriteOrder {
        var order = take(inode)
        // An order from before the claims is placed by `located`: a set may advance then, and a write has no effects.
        guard let item = context?.item, !claims.hasNoSets, order.isEmpty else { return order }
        places[inode] = item
        order.setGates(gates(of: order, at: item, now: now))
        return order
    }

    private func gates(of order: WriteOrder, at item: ClaimItem, now: Instant) -> [ClaimGate] {
        claims.keeping(.write(.plain), off: item).map { entry in
            order.gate(
                of: entry.id, covered: claims.covered(by: entry), isGranted: entry.phase == .granted, now: now)
        }
    }

    /// Sets and removes the gates of all written files, and wakes requests that are no longer held off.
    mutating func renewGates(now: Instant, _ effects: inout [Effect]) {
        claims.gatesAreStale = false
        for (inode, item) in places.sorted(by: { $0.key < $1.key }) {
            guard let current = orders[inode] else { continue }
            let gates = gates(of: current, at: item, now: now)
            guard gates != current.gates else { continue }
            var order = take(inode)
            order.setGates(gates)
            order.serve(now: now, limits, &effects)
            put(order, inode, &effects)
        }
        if claims.hasNoSets { places = [:] }
    }

    /// The files that are open for writing without a known location.
    var unplacedFiles: [InodeNumber] { orders.keys.filter { places[$0] == nil }.sorted() }

    /// Whether no writer that a set does not cover is active, or queued before it, in any file that the set has
    /// claimed.
    func isClear(for set: ClaimSetID, now: Instant) -> Bool {
        orders.allSatisfy { inode, order in places[inode] != nil && order.isClear(for: set, now: now, limits) }
    }

    /// The files whose writers a set waits for, or may have to wait for.
    func filesWritten(before set: ClaimSetID, now: Instant) -> [InodeNumber] {
        orders.filter { inode, order in places[inode] == nil || !order.isClear(for: set, now: now, limits) }.keys
            .sorted()
    }
}

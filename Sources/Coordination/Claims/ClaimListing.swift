package import Model

package enum ClaimState: String, Hashable, Sendable, Codable {
    /// For another claim, or for current writers.
    case waiting
    /// Presenters are being asked.
    case messaging
    case downloading
    case granted
}

extension NodeListing {
    /// A claim of the item, or of an item in this directory that does not exist yet.
    package struct AccessClaim: Hashable, Sendable, Codable {
        package var set: ClaimSetID
        package var mode: ClaimSet.Mode
        package var isWrite: Bool
        /// The names of the options, for example `forMoving`; empty for none.
        package var options: [String]
        /// The name of an item that does not exist yet.
        package var name: ItemName?
        /// `nil` for the coordinator's own.
        package var purpose: PurposeID?
        package var client: ClientID
        package var process: ProcessID
        package var state: ClaimState
        /// Since the request.
        package var age: Duration
        package var waitsFor: [WaitNode]
        /// The processes of these sets.
        package var waitsForProcesses: [ProcessID]
    }

    /// A presenter of the item, or of an item in this directory that does not exist yet.
    package struct PresenterProxy: Hashable, Sendable, Codable {
        package var id: PresenterID
        package var client: ClientID
        package var process: ProcessID
        package var purpose: PurposeID?
        package var name: ItemName?
        package var isUnresponsive: Bool
        /// Its unanswered messages, oldest first.
        package var unanswered: [PresenterMethod]
    }
}

extension AccessKind {
    /// The options by name, in the order of their raw values.
    package var optionNames: [String] {
        switch self {
        case .read(let options):
            let names: [(ReadingOptions, String)] = [
                (.withoutChanges, "withoutChanges"), (.resolvesSymbolicLink, "resolvesSymbolicLink"),
                (.immediatelyAvailableMetadataOnly, "immediatelyAvailableMetadataOnly"),
                (.forUploading, "forUploading"),
            ]
            return names.filter { options.contains($0.0) }.map(\.1)
        case .write(.plain):
            return []
        case .write(let option):
            return ["\(option)"]
        }
    }
}

extension ClaimEntry {
    var state: ClaimState {
        switch phase {
        case .inLine, .cleared, .draining: .waiting
        case .messaging: .messaging
        case .downloading: .downloading
        case .granted: .granted
        }
    }
}

extension ClaimItem {
    /// The node that it is listed at: its own, or that of its parent directory if it does not exist yet.
    fileprivate var node: InodeNumber? { inode ?? parent }
}

extension LockTable {
    /// Adds the claims and presenters of every item to its node.
    func listClaims(into nodes: inout [InodeNumber: NodeListing], now: Instant) {
        let waits = Dictionary(grouping: waitForGraph(now: now).links, by: \.waiter)
        func node(_ item: ClaimItem, _ body: (inout NodeListing) -> Void) {
            guard let inode = item.node else { return }
            var listing = nodes[inode] ?? NodeListing(inode: inode)
            if item.inode != nil {
                listing.parent = item.parent
                listing.name = item.name
            }
            body(&listing)
            nodes[inode] = listing
        }
        for (inode, place) in places where nodes[inode] != nil { node(place) { _ in } }
        for presenter in claims.presenters.all {
            guard let item = presenter.item else { continue }
            node(item) { $0.presenters.append(proxy(of: presenter)) }
        }
        for entry in claims.all {
            let waitsFor = waits[.claims(entry.id)]?.map(\.waitsFor) ?? []
            for claim in entry.set.claims {
                node(claim.item) { $0.claims.append(listing(of: claim, in: entry, waitsFor, now: now)) }
            }
        }
        for waiting in claims.names.waiting {
            guard let item = waiting.change.items.first else { continue }
            let holders = holders(against: waiting.change).compactMap { claims[$0]?.set.process }
            node(item) { listing in
                listing.waiters.append(
                    NodeListing.Waiter(
                        kind: .nameChange, processes: [waiting.change.process], age: now - waiting.since, mode: nil,
                        range: nil, ticket: waiting.change.ticket,
                        waitsFor: Set(holders).sorted()))
            }
        }
    }

    private func proxy(of presenter: Presenter) -> NodeListing.PresenterProxy {
        let unanswered = claims.questions.values.map(\.question).filter { $0.presenter == presenter.id }
        return NodeListing.PresenterProxy(
            id: presenter.id, client: presenter.client, process: presenter.process, purpose: presenter.purpose,
            name: presenter.item?.inode == nil ? presenter.item?.name : nil,
            isUnresponsive: claims.presenters.unresponsive.contains(presenter.id),
            unanswered: unanswered.sorted { $0.id < $1.id }.map(\.message.method))
    }

    private func listing(
        of claim: Claim, in entry: ClaimEntry, _ waitsFor: [WaitNode], now: Instant
    ) -> NodeListing.AccessClaim {
        let others = entry.phase == .granted ? [] : waitsFor
        return NodeListing.AccessClaim(
            set: entry.id, mode: entry.set.mode, isWrite: claim.kind.isWrite, options: claim.kind.optionNames,
            name: claim.item.inode == nil ? claim.item.name : nil,
            purpose: entry.set.purpose.rawValue == entry.set.coordinator.rawValue ? nil : entry.set.purpose,
            client: entry.set.client, process: entry.set.process, state: entry.state, age: now - entry.since,
            waitsFor: others, waitsForProcesses: Set(others.flatMap { processes(behind: $0, now: now) }).sorted())
    }

    private func processes(behind node: WaitNode, now: Instant) -> [ProcessID] {
        switch node {
        case .claims(let set): claims[set].map { [$0.set.process] } ?? []
        case .presenter(let presenter): claims.presenters[presenter].map { [$0.process] } ?? []
        case .process(let process): [process]
        case .writes(let inode): orders[inode]?.writers(now: now, limits) ?? []
        case .nameChange(let ticket): claims.names[ticket].map { [$0.process] } ?? []
        }
    }
}

extension NodeListing.AccessClaim {
    /// Its name in the output of `dewpoint locks`.
    package var kind: String {
        switch mode {
        case .access: isWrite ? "write claim" : "read claim"
        case .batch, .eviction: mode.rawValue
        }
    }

    package var detail: String {
        let subject = name.map { [$0.string] } ?? []
        let activity = state == .messaging || state == .downloading ? [state.rawValue] : []
        return (subject + options + activity + (purpose.map { ["purpose \($0.rawValue)"] } ?? [])).joined(
            separator: ", ")
    }
}

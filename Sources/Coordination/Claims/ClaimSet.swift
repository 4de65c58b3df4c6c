/// The engine's identifier for the claims of one call. Never reused.
package struct ClaimSetID: RawRepresentable, Hashable, Sendable, Codable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// A connection of a client. Never reused.
package struct ClientID: RawRepresentable, Hashable, Sendable, Codable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// An `NSFileCoordinator` of a client: unique among all clients, as a UUID is.
package struct CoordinatorID: RawRepresentable, Hashable, Sendable, Codable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }
    package init(_ rawValue: String) { self.rawValue = rawValue }
}

/// The purpose of a coordinator: coordinators of one purpose never wait for each other, in whatever process.
package struct PurposeID: RawRepresentable, Hashable, Sendable, Codable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }
    package init(_ rawValue: String) { self.rawValue = rawValue }
}

/// The right to read or write one item.
package struct Claim: Hashable, Sendable, Codable {
    package var kind: AccessKind
    package var item: ClaimItem

    package init(_ kind: AccessKind, _ item: ClaimItem) {
        self.kind = kind
        self.item = item
    }
}

/// All claims of one call: one place in the queue, granted all or none.
package struct ClaimSet: Hashable, Sendable {
    package enum Mode: String, Hashable, Sendable, Codable {
        case access
        /// `prepare(forReadingItemsAt:…)`: presenters are asked, including those of everything contained; no access is
        /// held off.
        case batch
        /// The bytes are to be removed: presenters are asked, and any claim of the item refuses it.
        case eviction
    }

    package var id: ClaimSetID
    package var mode: Mode
    package var client: ClientID
    /// The client's own number for it; `nil` for a claim of the engine.
    package var clientNumber: UInt64?
    /// The process whose plain writes it permits, with its descendants.
    package var process: ProcessID
    package var coordinator: CoordinatorID
    package var purpose: PurposeID
    /// The presenter that the coordinator was created with: it is never asked.
    package var presenter: PresenterID?
    /// The presenter on whose queue the call was made: it cannot answer until the call returns.
    package var fromPresenter: PresenterID?
    /// The sets in whose accessors the call was made: they are not released until it returns.
    package var within: [ClaimSetID]
    package var claims: [Claim]
    /// When it fails unless granted; `nil` to wait forever.
    package var deadline: Instant?

    package init(
        _ id: ClaimSetID, mode: Mode = .access, client: ClientID, process: ProcessID, coordinator: CoordinatorID,
        purpose: PurposeID, presenter: PresenterID? = nil, fromPresenter: PresenterID? = nil,
        within: [ClaimSetID] = [], claims: [Claim], deadline: Instant? = nil
    ) {
        self.id = id
        self.mode = mode
        self.client = client
        self.process = process
        self.coordinator = coordinator
        self.purpose = purpose
        self.presenter = presenter
        self.fromPresenter = fromPresenter
        self.within = within
        self.claims = claims
        self.deadline = deadline
    }
}

extension ClaimSet {
    /// Whether neither ever waits for the other.
    func isExempt(from other: ClaimSet) -> Bool {
        id == other.id || coordinator == other.coordinator || purpose == other.purpose
    }

    /// Whether some claim of it conflicts with one of the other's.
    func conflicts(with other: ClaimSet) -> Bool {
        claims.contains { new in other.claims.contains { ClaimMatrix.waits(new: new, earlier: $0) } }
    }

    func check(_ limits: ClaimLimits) throws(ClaimError) {
        guard !claims.isEmpty else { throw .noItems }
        guard claims.count <= limits.claimsPerSet else { throw .tooMany }
        guard mode == .batch else { return }
        for claim in claims {
            switch claim.kind {
            case .read(let options) where options.contains(.resolvesSymbolicLink): throw .notForBatches(claim.kind)
            case .write(.forReplacing): throw .notForBatches(claim.kind)
            case .read, .write: break
            }
        }
    }
}

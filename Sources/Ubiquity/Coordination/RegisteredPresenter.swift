import Synchronization

/// A presenter of this process, which is not retained.
final class RegisteredPresenter: Sendable {
    /// Unique in this process.
    let number: UInt64
    /// Shared by the presenter and its coordinators, so that these never wait for each other.
    let purpose = UUID().uuidString
    let identity: ObjectIdentifier
    private let reference: WeakPresenter
    private let place = Mutex<Place>(Place())
    /// What its item was like when it was registered, or told of a change, the last time.
    private let seen = Mutex<FileStamp?>(nil)

    struct Place: Sendable {
        var domain: (any CoordinationDomain)?
        var url: URL?
        /// Where the presenter thinks that its item is, until it is notified of a move to another domain.
        var former: URL?
    }

    init(_ presenter: any NSFilePresenter, number: UInt64) {
        self.number = number
        identity = ObjectIdentifier(presenter)
        reference = WeakPresenter(presenter)
    }

    /// `nil` once it is being deallocated.
    var presenter: (any NSFilePresenter)? { reference.presenter }

    var domain: (any CoordinationDomain)? { place.withLock { $0.domain } }

    /// Registers the presenter where its item is now, if it moved to another domain or had no item before; blocks
    /// until it is registered.
    ///
    /// - Parameter isNew: Whether to register it in any case.
    func settle(isNew: Bool = false) {
        guard let url = presenter?.presentedItemURL else { return }
        let domain = CoordinationDomains.domain(of: url)
        let before = place.withLock { place in
            defer { place = Place(domain: domain, url: url, former: nil) }
            return place
        }
        guard isNew || before.domain == nil || before.url?.standardizedFileURL != url.standardizedFileURL else {
            return
        }
        if let old = before.domain, old !== domain { old.withdraw(self) }
        // Before: of what changes from then on, the daemon tells.
        noteSeen()
        // A presenter that cannot be registered gets no messages, as on Apple's systems.
        _ = AccessLine.waiting { completion in domain.present(self, at: url, completion: completion) } as NSError?
    }

    /// The item was moved, as the presenter is being notified.
    func follow(to url: URL) {
        place.withLock { place in
            place.url = url
            place.former = nil
        }
    }

    // MARK: Changes that nobody told of

    /// Records the item's present state as the one that the presenter knows.
    func noteSeen() {
        guard let url = place.withLock({ $0.url }) else { return }
        let stamp = FileStamp(url.path)
        seen.withLock { $0 = stamp }
    }

    /// Tells the presenter, on its queue, of a change of its item that was made while there was no daemon to tell of it: what
    /// this program has written itself counts too.
    func catchUp() {
        guard let presenter else { return }
        QueueWork.shared.add(to: presenter.presentedItemOperationQueue) { [self] in
            guard PresenterRegistry.shared.contains(self), let presenter = self.presenter,
                let url = place.withLock({ $0.url }), let now = FileStamp(url.path)
            else { return }
            let before = seen.withLock { seen in
                defer { seen = now }
                return seen
            }
            if let before, now.differs(from: before) { presenter.presentedItemDidChange() }
        }
    }

    // MARK: Moves to another domain

    /// Whether the item left its domain and the presenter does not know yet.
    var isLeaving: Bool { place.withLock { $0.former != nil } }

    /// Notes the new place if the item is at or in one that was moved.
    func leave(_ old: ItemPlace, to new: URL) -> Bool {
        place.withLock { place in
            guard let url = place.url, let moved = old.follow(url, to: new) else { return false }
            if place.former == nil { place.former = url }
            place.url = moved
            return true
        }
    }

    /// Where an item is that the presenter names: its own may have moved without its knowledge.
    func current(_ url: URL) -> URL {
        let (former, new) = place.withLock { ($0.former, $0.url) }
        guard let former, let new else { return url }
        return ItemPlace(former).follow(url, to: new) ?? url
    }

    /// Registers the presenter in the new domain, and notifies it of the move. Blocks until it is registered.
    func settleAfterMove() {
        guard let presenter, let url = place.withLock({ $0.url }) else { return }
        let domain = CoordinationDomains.domain(of: url)
        let old = place.withLock { place in
            defer { place.domain = domain }
            return place.domain
        }
        if let old, old !== domain { old.withdraw(self) }
        guard PresenterRegistry.shared.contains(self) else { return }
        noteSeen()
        _ = AccessLine.waiting { completion in domain.present(self, at: url, completion: completion) } as NSError?
        // Removed meanwhile.
        guard PresenterRegistry.shared.contains(self) else { return domain.withdraw(self) }
        QueueWork.shared.add(to: presenter.presentedItemOperationQueue) { [self] in
            guard PresenterRegistry.shared.contains(self), let presenter = self.presenter else { return }
            follow(to: url)
            presenter.presentedItemDidMove(to: url)
        }
    }

    func withdraw() { domain?.withdraw(self) }
}

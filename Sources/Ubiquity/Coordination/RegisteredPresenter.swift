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

    struct Place: Sendable {
        var domain: (any CoordinationDomain)?
        var url: URL?
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
            defer { place = Place(domain: domain, url: url) }
            return place
        }
        guard isNew || before.domain == nil || before.url?.standardizedFileURL != url.standardizedFileURL else {
            return
        }
        if let old = before.domain, old !== domain { old.withdraw(self) }
        // A presenter that cannot be registered gets no messages, as on Apple's systems.
        _ = AccessLine.waiting { completion in domain.present(self, at: url, completion: completion) } as NSError?
    }

    /// The item was moved, as the presenter is being told.
    func follow(to url: URL) { place.withLock { $0.url = url } }

    func withdraw() { domain?.withdraw(self) }
}

package import Model

/// A client that is consulted and notified about one item: an `NSFilePresenter`.
package struct Presenter: Hashable, Sendable {
    package var id: PresenterID
    package var client: ClientID
    package var process: ProcessID
    /// `nil` until the item exists for it (`presentedItemURL` is nil); it gets no messages until then.
    package var item: ClaimItem?
    package var purpose: PurposeID?
    package var methods: Set<PresenterMethod>
    /// The ubiquity attributes that it observes; `nil` for all.
    package var observedAttributes: Set<String>?

    package init(
        _ id: PresenterID, client: ClientID, process: ProcessID, item: ClaimItem?, purpose: PurposeID? = nil,
        methods: Set<PresenterMethod> = Set(PresenterMethod.allCases), observedAttributes: Set<String>? = nil
    ) {
        self.id = id
        self.client = client
        self.process = process
        self.item = item
        self.purpose = purpose
        self.methods = methods
        self.observedAttributes = observedAttributes
    }
}

/// All presenters of the mount.
struct Presenters: Sendable {
    private var registered: [PresenterID: Presenter] = [:]
    /// Presenters with an overdue answer.
    var unresponsive: Set<PresenterID> = []

    var isEmpty: Bool { registered.isEmpty }
    var count: Int { registered.count }
    var processes: [ProcessID] { registered.values.map(\.process) }

    /// In ascending order, so that a run can be replayed.
    var all: [Presenter] { registered.values.sorted { $0.id < $1.id } }

    subscript(_ id: PresenterID) -> Presenter? { registered[id] }

    mutating func add(_ presenter: Presenter) { registered[presenter.id] = presenter }

    mutating func remove(_ id: PresenterID) {
        registered[id] = nil
        unresponsive.remove(id)
    }

    mutating func setItem(_ item: ClaimItem?, of id: PresenterID) { registered[id]?.item = item }

    /// Applies a change of names to every presented item.
    mutating func follow(_ change: (ClaimItem) -> ClaimItem) {
        for (id, presenter) in registered {
            if let item = presenter.item { registered[id]?.item = change(item) }
        }
    }

    func presenting(_ item: ClaimItem) -> [Presenter] { all.filter { $0.item?.isSame(as: item) == true } }

    /// The presenters of a place where there is no item yet.
    func awaiting(_ place: ClaimItem) -> Set<PresenterID> {
        Set(registered.values.filter { $0.item?.inode == nil && $0.item?.isAt(place) == true }.map(\.id))
    }

    /// The presenters of everything inside a directory.
    func inside(_ item: ClaimItem) -> [Presenter] { all.filter { $0.item?.isContained(in: item) == true } }

    /// The presenters of the file packages around an item, the item itself excluded.
    func packages(around item: ClaimItem) -> [Presenter] {
        all.filter { presenter in
            guard let inode = presenter.item?.inode else { return false }
            return inode != item.inode && item.packages.contains(inode)
        }
    }

    /// The presenters of the directories above an item, packages or not.
    func directories(above item: ClaimItem) -> [Presenter] {
        all.filter { presenter in presenter.item?.inode.map(item.ancestors.contains) == true }
    }
}

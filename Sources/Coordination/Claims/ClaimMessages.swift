import Model

/// The messages to the presenters of a set's items before it is granted, in the order in which each presenter gets
/// them.
///
/// ```
/// claim                    chain                 contained       item, contained        packages around
/// read                     relinquish, save ¹
/// write                    relinquish
/// write forMerging         relinquish, save
/// write forMoving          relinquish            relinquish
/// write forDeleting ²      relinquish            relinquish      accommodate deletion   accommodate subitem deletion
/// write metadata only      relinquish
/// eviction                                                       accommodate eviction
/// ```
/// The chain is all presenters of the item or of a package around it. ¹ Not with `withoutChanges`. ² And forReplacing.
/// A batch sends the presenters of contained items the same messages as the chain.
struct ClaimMessages {
    private(set) var byPresenter: [PresenterID: [PresenterMessage]] = [:]

    /// The first presenter of an item to be evicted that cannot permit the eviction.
    private(set) var unwilling: PresenterID?

    /// The first presenter that gets a message or cannot permit the eviction.
    var first: PresenterID? { [unwilling, byPresenter.keys.min()].compactMap(\.self).min() }

    init(for set: ClaimSet, presenters: Presenters) {
        var wanted: [PresenterID: Set<PresenterMessage>] = [:]
        for claim in set.claims {
            for (presenter, message) in Self.messages(for: claim, set.mode, presenters)
            where presenter.id != set.presenter {
                if presenter.methods.contains(message.method) {
                    wanted[presenter.id, default: []].insert(message)
                } else if message == .accommodateEviction {
                    unwilling = min(unwilling ?? presenter.id, presenter.id)
                }
            }
        }
        byPresenter = wanted.mapValues { messages in
            var messages = messages
            // Relinquishing to a writer includes relinquishing to a reader.
            if messages.contains(.relinquishToWriter) { messages.remove(.relinquishToReader) }
            return messages.sorted { $0.order < $1.order }
        }
    }

    private static func messages(
        for claim: Claim, _ mode: ClaimSet.Mode, _ presenters: Presenters
    ) -> [(Presenter, PresenterMessage)] {
        let item = claim.item
        let own = presenters.presenting(item)
        let around = presenters.packages(around: item)
        let inside = item.isDirectory ? presenters.inside(item) : []
        func each(_ presenters: [Presenter], _ messages: [PresenterMessage]) -> [(Presenter, PresenterMessage)] {
            presenters.flatMap { presenter in messages.map { (presenter, $0) } }
        }
        if mode == .eviction { return each(own + inside, [.accommodateEviction]) }
        let chain = own + around + (mode == .batch ? inside : [])
        switch claim.kind {
        case .read(let options):
            let isSaved = !options.contains(.withoutChanges)
            return each(chain, isSaved ? [.relinquishToReader, .save] : [.relinquishToReader])
        case .write(.plain), .write(.contentIndependentMetadataOnly):
            return each(chain, [.relinquishToWriter])
        case .write(.forMerging):
            return each(chain, [.relinquishToWriter, .save])
        case .write(.forMoving):
            return each(own + around + inside, [.relinquishToWriter])
        case .write(.forDeleting), .write(.forReplacing):
            return each(own + inside, [.relinquishToWriter, .accommodateDeletion])
                + each(around, [.relinquishToWriter, .accommodateSubitemDeletion(item)])
        }
    }
}

extension PresenterMessage {
    /// Relinquishing comes first, then saving or preparing.
    fileprivate var order: (Int, UInt64, String) {
        switch self {
        case .relinquishToReader: (0, 0, "")
        case .relinquishToWriter: (1, 0, "")
        case .save: (2, 0, "")
        case .accommodateDeletion: (3, 0, "")
        case .accommodateSubitemDeletion(let item):
            (4, item.inode?.rawValue ?? item.parent?.rawValue ?? 0, item.name?.string ?? "")
        case .accommodateEviction: (5, 0, "")
        }
    }
}

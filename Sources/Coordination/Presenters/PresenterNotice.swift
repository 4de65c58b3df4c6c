package import Model

/// A change of an item.
package enum ItemEvent: Hashable, Sendable {
    /// Its content or its attributes were written.
    case changed(ClaimItem)
    case appeared(ClaimItem)
    case moved(from: ClaimItem, to: ClaimItem)
    case deleted(ClaimItem)
    case version(VersionChange, String, ClaimItem)
    /// The keys that changed, for example `NSURLUbiquitousItemIsUploadedKey`.
    case ubiquityAttributes(Set<String>, ClaimItem)
}

package enum VersionChange: String, Hashable, Sendable, Codable, CaseIterable {
    case gained, lost, resolved
}

/// A message that a presenter does not answer.
package enum PresenterNotice: Hashable, Sendable {
    case didChange
    case didMove(to: ClaimItem)
    case didChangeUbiquityAttributes(Set<String>)
    case version(VersionChange, String)
    case subitemDidAppear(ClaimItem)
    case subitemDidChange(ClaimItem)
    case subitemDidMove(from: ClaimItem, to: ClaimItem)
    case subitemVersion(VersionChange, String, ClaimItem)

    package var method: PresenterMethod {
        switch self {
        case .didChange: .didChange
        case .didMove: .didMove
        case .didChangeUbiquityAttributes: .didChangeUbiquityAttributes
        case .version(.gained, _): .didGainVersion
        case .version(.lost, _): .didLoseVersion
        case .version(.resolved, _): .didResolveConflictVersion
        case .subitemDidAppear: .subitemDidAppear
        case .subitemDidChange: .subitemDidChange
        case .subitemDidMove: .subitemDidMove
        case .subitemVersion(.gained, _, _): .subitemDidGainVersion
        case .subitemVersion(.lost, _, _): .subitemDidLoseVersion
        case .subitemVersion(.resolved, _, _): .subitemDidResolveConflictVersion
        }
    }

    /// Whether the presenter of a package is notified of a change of its item if it does not implement this.
    fileprivate var fallsBack: Bool {
        switch self {
        case .subitemDidAppear, .subitemDidChange, .subitemDidMove: true
        case .didChange, .didMove, .didChangeUbiquityAttributes, .version, .subitemVersion: false
        }
    }
}

extension Presenters {
    /// The notices of an event for each presenter; presenters in ascending order.
    ///
    /// - Parameters:
    ///   - origin: The presenter of the coordinator that caused it: it is notified of versions only.
    ///   - awaiting: The presenters that had no item at the place to which one was moved: for them it was created.
    func notices(
        of event: ItemEvent, by origin: PresenterID?, awaiting: Set<PresenterID> = []
    ) -> [(PresenterID, PresenterNotice)] {
        var notices: [(Presenter, PresenterNotice)] = []
        var isForAll = false
        func above(_ item: ClaimItem, _ notice: PresenterNotice) {
            notices += directories(above: item).map { ($0, notice) }
        }
        switch event {
        case .changed(let item):
            notices += presenting(item).map { ($0, .didChange) }
            above(item, .subitemDidChange(item))
        case .appeared(let item):
            // They were there first: the item was missing.
            notices += presenting(item).map { ($0, .didChange) }
            above(item, .subitemDidAppear(item))
        case .moved(let from, let to):
            notices += presenting(to).map { ($0, awaiting.contains($0.id) ? .didChange : .didMove(to: to)) }
            if let inode = to.inode {
                notices += inside(to).compactMap { presenter in
                    presenter.item.map { (presenter, .didMove(to: $0.following(inode, to: to))) }
                }
            }
            above(from, .subitemDidMove(from: from, to: to))
            // The presenter of only the destination directory does not know the former place.
            notices += directories(above: to)
                .filter { presenter in !from.ancestors.contains { $0 == presenter.item?.inode } }
                .map { ($0, .subitemDidAppear(to)) }
        case .deleted(let item):
            above(item, .subitemDidChange(item))
        case .version(let change, let version, let item):
            isForAll = true
            notices += presenting(item).map { ($0, .version(change, version)) }
            above(item, .subitemVersion(change, version, item))
        case .ubiquityAttributes(let keys, let item):
            notices += presenting(item).compactMap { presenter in
                let observed = keys.filter { presenter.observes($0) }
                return observed.isEmpty ? nil : (presenter, .didChangeUbiquityAttributes(observed))
            }
        }
        return notices.filter { isForAll || $0.0.id != origin }
            .compactMap { presenter, notice in presenter.hears(notice).map { (presenter.id, $0) } }
            .sorted { $0.0 < $1.0 }
    }
}

extension Presenter {
    fileprivate func observes(_ key: String) -> Bool {
        if let observedAttributes { return observedAttributes.contains(key) }
        return key.hasPrefix("NSURLUbiquitousItem") || key.hasPrefix("NSURLUbiquitousSharedItem")
            || key == "NSURLIsUbiquitousItemKey"
    }

    /// The notice, or its fallback; `nil` if it implements neither.
    fileprivate func hears(_ notice: PresenterNotice) -> PresenterNotice? {
        if methods.contains(notice.method) { return notice }
        let isPackage = item?.inode.map { item?.packages.contains($0) == true } == true
        return notice.fallsBack && isPackage && methods.contains(.didChange) ? .didChange : nil
    }
}

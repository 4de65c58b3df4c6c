package import Model
package import Remote
import Synchronization

/// The link conditioner of a mount: the conditions of its options, until others are set at run time.
package final class LinkControl: Sendable {
    private struct State {
        var settings: LinkSettings
        var store: ConditionedStore<ContinuousClock>?
    }

    /// Those of the mount's options.
    private let lasting: LinkSettings
    private let state: Mutex<State>

    package init(_ lasting: LinkSettings = LinkSettings()) {
        var lasting = lasting
        lasting.isLasting = true
        self.lasting = lasting
        state = Mutex(State(settings: lasting))
    }

    /// The store behind the link. Called once.
    package func conditioning(_ store: any ObjectStore) -> any ObjectStore {
        let conditioned = ConditionedStore(store, condition: lasting.condition, clock: .continuous) {
            .random(in: 0..<100)
        }
        state.withLock { $0.store = conditioned }
        return conditioned
    }

    package var settings: LinkSettings { state.withLock { $0.settings } }

    /// Sets conditions for requests from now on, and for the rest of the running ones.
    ///
    /// - Parameter settings: `nil` for those of the mount's options.
    /// - Throws: ``FileError`` with `invalid` when they are out of range.
    package func set(_ settings: LinkSettings?) throws(FileError) {
        if let fault = settings?.fault { throw FileError(.invalid, fault) }
        var fresh = settings ?? lasting
        fresh.isLasting = settings == nil
        let store = state.withLock { state in
            state.settings = fresh
            return state.store
        }
        store?.condition = fresh.condition
    }
}

extension LinkSettings {
    fileprivate var condition: LinkCondition {
        LinkCondition(
            delay: .milliseconds(delayMilliseconds), downBytesPerSecond: downKiBPerSecond.map { $0 * 1024 },
            upBytesPerSecond: upKiBPerSecond.map { $0 * 1024 }, lossPercent: lossPercent,
            lookupDelay: .milliseconds(lookupMilliseconds ?? 0))
    }
}

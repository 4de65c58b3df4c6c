import Coordination
import Remote
import Synchronization

/// Decisions of the table about claims that are not carried out yet, in the order in which they were made.
///
/// The caller of an operation carries out its effects without a hop to another task; a background task carries out
/// those of other events. Only one task does so at a time, and takes over effects that arrive meanwhile. There are at
/// most a few for each set, question and presenter that the table's limits admit.
final class ClaimEffects: Sendable {
    private struct State {
        var waiting: [ClaimEffect] = []
        var isBusy = false
    }

    private let state = Mutex(State())
    private let arrivals = Signal()

    /// Called under the table's lock to keep the order.
    func append(_ effects: [Effect]) {
        let claimEffects = effects.compactMap { effect in
            if case .claim(let claimEffect) = effect { claimEffect } else { nil }
        }
        guard !claimEffects.isEmpty else { return }
        let isLeft = state.withLock { state in
            state.waiting += claimEffects
            return !state.isBusy
        }
        if isLeft { arrivals.raise() }
    }

    /// Carries out all waiting effects and those that they cause. Does nothing while another task does so, which then
    /// takes these over.
    func carryOut(_ body: (ClaimEffect) -> Void) {
        guard begin() else { return }
        while let batch = next() { batch.forEach(body) }
    }

    /// Carries out effects as they arrive, until cancelled. Calls `afterwards` each time, and after ``wake()``.
    func run(_ body: (ClaimEffect) -> Void, afterwards: () -> Void) async {
        while await arrivals.wait() {
            carryOut(body)
            afterwards()
        }
    }

    func wake() { arrivals.raise() }

    private func begin() -> Bool {
        state.withLock { state in
            guard !state.isBusy else { return false }
            state.isBusy = true
            return true
        }
    }

    /// - Returns: `nil` when nothing is left, which also ends the turn of the calling task.
    private func next() -> [ClaimEffect]? {
        state.withLock { state in
            defer { state.waiting = [] }
            state.isBusy = !state.waiting.isEmpty
            return state.isBusy ? state.waiting : nil
        }
    }
}

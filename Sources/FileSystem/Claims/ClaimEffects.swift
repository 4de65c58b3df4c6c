import Coordination
import Synchronization

/// What the table has decided about claims and nobody has carried out yet, in the order in which it was decided.
///
/// Whoever asked for something carries out what there is, without a hop to another task; what other events bring is left to a task
/// of its own. Only one carries out at a time, and takes over what comes meanwhile. There are at most a few for each set, question and
/// presenter that the table's limits admit.
final class ClaimEffects: Sendable {
    private struct State {
        var waiting: [ClaimEffect] = []
        var isBusy = false
    }

    private let state = Mutex(State())
    private let arrivals: AsyncStream<Void>
    private let arrival: AsyncStream<Void>.Continuation

    init() {
        (arrivals, arrival) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Called under the table's lock, so that the order is kept.
    func append(_ effects: [Effect]) {
        let claimEffects = effects.compactMap { effect in
            if case .claim(let claimEffect) = effect { claimEffect } else { nil }
        }
        guard !claimEffects.isEmpty else { return }
        let isLeft = state.withLock { state in
            state.waiting += claimEffects
            return !state.isBusy
        }
        if isLeft { arrival.yield() }
    }

    /// Carries out what there is and what that brings; nothing when somebody is about it, who takes it over.
    func carryOut(_ body: (ClaimEffect) -> Void) {
        guard begin() else { return }
        while let batch = next() { batch.forEach(body) }
    }

    /// Carries out what comes, until cancelled.
    func run(_ body: (ClaimEffect) -> Void) async {
        for await _ in arrivals { carryOut(body) }
    }

    private func begin() -> Bool {
        state.withLock { state in
            guard !state.isBusy else { return false }
            state.isBusy = true
            return true
        }
    }

    /// - Returns: `nil` when nothing is left: then nobody is about it any more.
    private func next() -> [ClaimEffect]? {
        state.withLock { state in
            defer { state.waiting = [] }
            state.isBusy = !state.waiting.isEmpty
            return state.isBusy ? state.waiting : nil
        }
    }
}

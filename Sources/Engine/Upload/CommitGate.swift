/// Lets one task at a time move the replica from one commit to the next: the follower applying, or the uploader appending.
///
/// First come, first served.
actor CommitGate {
    private var isTaken = false
    private var queue: [CheckedContinuation<Void, Never>] = []

    func withGate<Value: Sendable, Failure: Error>(
        _ body: @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        await enter()
        defer { leave() }
        return try await body()
    }

    private func enter() async {
        if isTaken {
            await withCheckedContinuation { queue.append($0) }
        } else {
            isTaken = true
        }
    }

    private func leave() {
        if queue.isEmpty {
            isTaken = false
        } else {
            queue.removeFirst().resume()
        }
    }
}

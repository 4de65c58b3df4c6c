import CoreMetrics
import Metering
package import Model
package import Remote
import Synchronization

/// A store that records whether it can be reached, see ``Reachability``, and counts and times the requests to it.
package final class WatchedStore: StoreDecorator {
    private let base: any ObjectStore
    private let environment: EngineEnvironment
    private let readOnlySentence: String?
    private let instruments: RequestInstruments
    private let reachability: Mutex<Reachability>
    private let refused = Mutex<String?>(nil)
    /// Raised each time the store answers again after it did not.
    package let returns = Signal()

    package init(_ base: any ObjectStore, patience: Duration, _ context: SyncContext) {
        self.base = base
        instruments = context.instruments.requests
        environment = context.environment
        readOnlySentence = context.readOnlySentence
        reachability = Mutex(Reachability(patience: patience))
    }

    /// Whether the store has been silent for a caller's full patience.
    package var isSilent: Bool {
        let now = environment.uptime()
        return reachability.withLock { $0.isSilent(at: now) }
    }

    package var isFailing: Bool { reachability.withLock { $0.isFailing } }

    /// Why the store refuses its last request, in a sentence; `nil` once it has answered one again.
    package var refusal: String? { refused.withLock { $0 } }

    /// A caller waited in vain with full patience.
    package func noteGivenUp() {
        let now = environment.uptime()
        reachability.withLock { $0.noteGivenUp(at: now) }
    }

    private func note(_ error: StoreError?, begun begin: Duration) {
        guard let outcome = Reachability.Outcome(error) else { return }
        if outcome == .answered { refused.withLock { $0 = error?.code == .denied ? error?.description : nil } }
        let now = environment.uptime()
        let isThrottled = error?.code == .throttled
        guard reachability.withLock({ $0.note(outcome, isThrottled: isThrottled, begun: begin, at: now) }) else {
            return
        }
        returns.raise()
    }

    /// Returns after a pause between two attempts, or as soon as the store answers again after it did not.
    package func pause(_ limit: Duration) async throws(CancellationError) {
        await returns.wait(since: returns.turn, atMost: limit, sleep: environment.sleep)
        if Task.isCancelled { throw CancellationError() }
    }

    private func noting<Value>(
        _ kind: RequestInstruments.Kind, _ call: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let begin = environment.uptime()
        do throws(StoreError) {
            let value = try await call()
            note(nil, begun: begin)
            instruments.ended(kind, after: environment.uptime() - begin)
            return value
        } catch {
            note(error, begun: begin)
            instruments.ended(kind, after: environment.uptime() - begin)
            instruments.failed(kind, error.code.rawValue)
            throw error
        }
    }

    package func base(_ key: String) -> any ObjectStore { base }

    package func get(_ address: ObjectAddress, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        watching(try await noting(.get) { () async throws(StoreError) in try await base.get(address, range: range) })
    }

    private func watching(_ stream: ByteStream) -> ByteStream {
        ByteStream(key: stream.key) { (take) async throws(StoreError) in
            do throws(StoreError) {
                return try await stream.next { piece in
                    self.instruments.downloadedBytes.increment(by: piece.count)
                    take(piece)
                }
            } catch {
                self.note(error, begun: .zero)
                self.instruments.failed(.get, error.code.rawValue)
                throw error
            }
        }
    }

    /// Every part of the engine writes through this store, so that none asks a store again that refuses.
    private func requireWritable(_ key: String) throws(StoreError) {
        if let readOnlySentence { throw StoreError(.denied, key: key, readOnlySentence) }
    }

    package func put(_ key: String, _ body: Body) async throws(StoreError) {
        try requireWritable(key)
        try await noting(.put) { () async throws(StoreError) in try await base.put(key, body) }
        instruments.uploadedBytes.increment(by: body.byteCount)
    }

    package func create(_ key: String, _ body: Body) async throws(StoreError) {
        try requireWritable(key)
        try await noting(.create) { () async throws(StoreError) in try await base.create(key, body) }
        instruments.uploadedBytes.increment(by: body.byteCount)
    }

    package func list(_ prefix: ObjectAddress, after: String?, limit: Int) async throws(StoreError) -> [ObjectListing] {
        try await noting(.list) { () async throws(StoreError) in
            try await base.list(prefix, after: after, limit: limit)
        }
    }

    package func delete(_ key: String) async throws(StoreError) {
        try requireWritable(key)
        try await noting(.delete) { () async throws(StoreError) in try await base.delete(key) }
    }

    package func head(_ address: ObjectAddress) async throws(StoreError) -> ObjectListing {
        try await noting(.head) { () async throws(StoreError) in try await base.head(address) }
    }

    package func assemble(_ key: String, from parts: [ObjectPart]) async throws(StoreError) {
        try requireWritable(key)
        try await noting(.put) { () async throws(StoreError) in try await base.assemble(key, from: parts) }
    }

    /// A request only where there is something to check.
    package func verifyDescription() async throws(StoreError) {
        guard base.isSealed else { return }
        try await noting(.get) { () async throws(StoreError) in try await base.verifyDescription() }
    }

    package func goOn(fromSnapshot number: CommitNumber) { base.goOn(fromSnapshot: number) }

    package var formerMemberCount: Int { base.formerMemberCount }
    package var isBaseDoubtful: Bool { base.isBaseDoubtful }

    package func isSignedByFormerMember(_ key: String) async throws(StoreError) -> Bool {
        guard base.isSealed else { return false }
        return try await noting(.get) { () async throws(StoreError) in try await base.isSignedByFormerMember(key) }
    }

    package func keyProblems() async throws(StoreError) -> [String] {
        guard base.isSealed else { return [] }
        return try await noting(.get) { () async throws(StoreError) in try await base.keyProblems() }
    }

    // Links are signed on this machine: they say nothing of the store.
}

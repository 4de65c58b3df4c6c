package import Foundation
package import Remote
import Synchronization

/// Where a device keeps what it is to know at the next start. Called without a lock.
package protocol KeyringNotebook: Sendable {
    /// A newer version.
    func remember(_ memory: KeyringMemory)
    /// Whether something else is kept than at the last call.
    func hasChanged() -> Bool
    /// Nothing that is kept opens the container any more.
    func forget()
}

/// The keyring of a container that is in use on a device which can open it, and follows the new versions.
package final class OpenKeyring: SealingKeySource, HistoryAuthority {
    private struct State {
        var chain: KeyringChain
        var keys: SealingKeys
        var lastLook: ContinuousClock.Instant?
    }

    /// How old the last look for new versions may be when something is written: 5 s. So long a change on another device
    /// may go unnoticed by one that writes; one that reads notices it by what it reads.
    private static let lookInterval = Duration.seconds(5)

    private let memory: KeyringMemory
    private let rings: KeyringStore
    private let notebook: any KeyringNotebook
    private let state: Mutex<State>

    /// - Parameters:
    ///   - store: The one that is not sealed.
    /// - Throws: ``KeyringError`` when the memory does not open the version that it has.
    package init(
        _ memory: KeyringMemory, store: any ObjectStore, notebook: any KeyringNotebook
    ) throws(KeyringError) {
        self.memory = memory
        rings = KeyringStore(store: store, container: memory.container)
        self.notebook = notebook
        state = Mutex(State(chain: try memory.chain(), keys: try memory.keys()))
    }

    package var keys: SealingKeys { state.withLock { $0.keys } }

    package func renew() async throws(StoreError) {
        var chain = state.withLock { $0.chain }
        do throws(KeyringError) {
            try await verify(chain.pin)
            if try await rings.extend(&chain) { try take(chain) }
            state.withLock { $0.lastLook = .now }
        } catch {
            // What could not be followed is looked for again before anything is written.
            state.withLock { $0.lastLook = nil }
            // Verified: only a member can have taken the keys away. So the next start asks for the passphrase.
            if error == .notEnrolled { notebook.forget() }
            throw error.storeError(key: rings.key(chain.newest.number + 1))
        }
    }

    package func verify() async throws(StoreError) {
        let pin = state.withLock { $0.chain.pin }
        do throws(KeyringError) { try await verify(pin) } catch { throw error.storeError(key: rings.key(pin.number)) }
    }

    /// A new device reads all versions, from the first one on.
    package func problems() async throws(StoreError) -> [String] {
        let chain = state.withLock { $0.chain }
        var problems: [String] = []
        do throws(KeyringError) {
            for number in 1...chain.newest.number {
                let pin = KeyringChain.Pin(number: number, hash: chain.versions[number - 1].hash)
                if try await !rings.has(pin) {
                    problems.append(
                        "\(rings.key(number)): it is missing or damaged, so that no new device can open the container; restore it "
                            + "as it was")
                }
            }
            var next = chain
            do throws(KeyringError) { _ = try await rings.extend(&next) } catch {
                if case .store = error { throw error }
                problems.append(
                    "\(rings.key(next.newest.number + 1)): \(error.sentence); if no device of yours has made it, remove it"
                )
            }
        } catch {
            throw error.storeError(key: rings.key(chain.newest.number))
        }
        return problems
    }

    /// A store that was restored to an older state has lost keys that only this device knows by now: what it wrote under
    /// them, nobody else could read.
    private func verify(_ pin: KeyringChain.Pin) async throws(KeyringError) {
        guard try await !rings.has(pin) else { return }
        throw .notDescended(
            "version \(pin.number) of the keyring, which this device knows, is missing or another one: the store was restored "
                + "to an older state, or somebody has exchanged it; restore \(rings.key(pin.number)) as it was")
    }

    package func renewIfOld() async throws(StoreError) {
        let isOld = state.withLock { state in state.lastLook.map { $0 + Self.lookInterval < .now } ?? true }
        // A change that was made on this device applies at once.
        if notebook.hasChanged() || isOld { try await renew() }
    }

    // MARK: Who may write

    package var container: UUID { memory.container }

    package var signer: HistorySigner? { state.withLock { $0.chain }.signer(memory.author(at: 0)) }

    package func mayWrite(_ member: UUID) -> Bool { state.withLock { $0.chain }.mayWrite(member) }

    package var formerMemberCount: Int { state.withLock { $0.chain }.formerMemberCount }

    package func isRevoked(_ member: UUID, under ring: Int) -> Bool {
        state.withLock { $0.chain }.isRevoked(member, under: ring)
    }

    package func signingKey(
        of member: UUID, under ring: KeyringChain.Pin, key: String
    ) async throws(StoreError) -> Data {
        if state.withLock({ $0.chain.newest.number }) < ring.number { try await renew() }
        return try state.withLock { $0.chain }.signingKey(of: member, under: ring, key: key)
    }

    private func take(_ chain: KeyringChain) throws(KeyringError) {
        let keys = try memory.open(chain).sealingKeys(of: memory.container)
        let isNewer = state.withLock { state in
            guard state.chain.newest.number < chain.newest.number else { return false }
            state.chain = chain
            state.keys = keys
            return true
        }
        guard isNewer else { return }
        notebook.remember(KeyringMemory(chain, memory.access))
    }
}

extension KeyringError {
    /// As an error of reading or writing the container.
    func storeError(key: String) -> StoreError {
        switch self {
        case .store(let error): error
        case .notEnrolled: StoreError(.denied, key: key, sentence)
        case .wrongSecret, .damaged, .notDescended, .parameters, .refused: StoreError(.corrupt, key: key, sentence)
        }
    }

    /// What to tell a person.
    package var sentence: String {
        switch self {
        case .wrongSecret:
            "the passphrase or recovery code is wrong, or is that of another container"
        case .notEnrolled:
            "this device is not enrolled in the encrypted container, or was revoked: have a device that is enrolled accept "
                + "it, see 'dewpoint help key enrol', or mount it once with the passphrase"
        case .damaged(let detail): "the keyring in the store is damaged or was exchanged: \(detail)"
        case .notDescended(let detail):
            "the keyring in the store does not descend from the one that this device knows, so nothing of it is used: "
                + detail
        case .parameters(let detail): "the keyring in the store has parameters that are not accepted: \(detail)"
        case .store(let error): error.detail.isEmpty ? error.description : error.detail
        case .refused(let detail): detail
        }
    }
}

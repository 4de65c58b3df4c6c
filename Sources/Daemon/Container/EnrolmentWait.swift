import Foundation
import Model
import Remote
import Sealing

/// A device that waits to be enrolled in an encrypted container; see ``Enrolment``.
package struct EnrolmentWait: Sendable {
    /// How often the store is asked for an answer: every 2 s.
    private static let interval = Duration.seconds(2)

    private let location: ContainerLocation
    private let state: StateDirectory?
    private let store: any ObjectStore
    private let enrolment: Enrolment

    /// For a person to carry to a device that is enrolled.
    package var code: String { enrolment.code.text }

    /// - Parameter state: Where to keep the keys; `nil` for the default place of the container.
    package init(
        at location: ContainerLocation, state: StateDirectory?, deviceName: String
    ) async throws(DaemonError) {
        let found: SealedContainer.Found
        do throws(StoreError) {
            store = try location.openStore(createIfMissing: false)
            found = try await SealedContainer.examine(store)
        } catch {
            throw DaemonError(error, url: location.url)
        }
        guard case .sealed(let sealed) = found else {
            throw DaemonError(.usage, "the container at \(location.url) is not encrypted: every device may mount it")
        }
        do throws(KeyringError) {
            enrolment = try await Enrolment(
                in: store, container: sealed.uuid, name: deviceName, time: ContainerKeys.now)
        } catch {
            throw DaemonError(error, url: location.url)
        }
        self.location = location
        self.state = state
    }

    /// Waits for the answer.
    ///
    /// - Returns: The state in which the keys of this device are.
    /// - Throws: ``DaemonError`` with `denied` when nobody answers in time.
    package func wait() async throws(DaemonError) -> StateDirectory {
        let end = ContinuousClock.now + Enrolment.lifetime
        while ContinuousClock.now < end {
            if let memory = try await answer() {
                await enrolment.remove()
                return try await keep(memory)
            }
            do { try await Task.sleep(for: Self.interval) } catch {
                throw DaemonError(.failed, "cancelled before this device was enrolled")
            }
        }
        await enrolment.remove()
        throw DaemonError(.denied, "no device has accepted the code within 15 minutes; ask again")
    }

    private func answer() async throws(DaemonError) -> KeyringMemory? {
        do throws(KeyringError) { return try await enrolment.answer() } catch {
            // The store may be back in time.
            if case .store(let cause) = error, cause.isTransient { return nil }
            throw DaemonError(error, url: location.url)
        }
    }

    private func keep(_ memory: KeyringMemory) async throws(DaemonError) -> StateDirectory {
        let sealed: SealedStore
        do throws(KeyringError) {
            sealed = SealedStore(store, keys: try memory.keys(), history: SealedHistory(try memory.authority()))
        } catch {
            throw DaemonError(error, url: location.url)
        }
        let identity: ContainerIdentity
        do throws(StoreError) { identity = try await Container.open(in: sealed).identity } catch {
            throw DaemonError(error, url: location.url)
        }
        let place =
            state
            ?? StateDirectory(container: identity.id, environment: ProcessInfo.processInfo.environment)
        try place.keep(memory, of: identity, at: location)
        return place
    }
}

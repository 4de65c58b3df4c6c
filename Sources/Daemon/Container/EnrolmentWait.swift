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
    private let sealed: SealedContainer
    private let enrolment: Enrolment
    private let deviceName: String

    /// For a person to carry to a device that is enrolled.
    package var code: String { enrolment.code.text }

    /// - Parameter state: Where to keep the keys; `nil` for the default place of the container.
    /// - Throws: ``DaemonError`` with `usage` for a device that is enrolled as a writer, and a state that has other keys.
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
        try await Self.refuseEnrolled(sealed, at: location, state: state)
        do throws(KeyringError) {
            enrolment = try await Enrolment(
                in: store, container: sealed.uuid, name: deviceName, time: ContainerKeys.now)
        } catch {
            throw DaemonError(error, url: location.url)
        }
        self.location = location
        self.state = state
        self.sealed = sealed
        self.deviceName = deviceName
    }

    private static func refuseEnrolled(
        _ sealed: SealedContainer, at location: ContainerLocation, state: StateDirectory?
    ) async throws(DaemonError) {
        try state?.checkHasNoOther(than: sealed.uuid)
        let states = state.map { [$0] } ?? Array(StateDirectory.all(ProcessInfo.processInfo.environment).joined())
        // One that was revoked, or may only read, may ask.
        guard let memory = StateDirectory.keyring(of: sealed.uuid, among: states), let device = memory.device,
            let member = try? await sealed.open(memory).newest.member(device), member.role == .writer,
            member.revokedAt == nil
        else { return }
        throw DaemonError(
            .usage,
            "this device is enrolled already, as \(member.name): mount the container with: dewpoint mount \(location.url) "
                + "MOUNTPOINT")
    }

    /// Waits for the answer.
    ///
    /// - Returns: The state in which the keys of this device are.
    /// - Throws: ``DaemonError`` with `denied` when nobody answers in time.
    package func wait() async throws(DaemonError) -> StateDirectory {
        let memory: KeyringMemory
        do throws(DaemonError) { memory = try await answer(within: Enrolment.lifetime) } catch {
            await enrolment.remove()
            throw error
        }
        await enrolment.remove()
        do throws(DaemonError) { return try await keep(memory) } catch {
            throw DaemonError(
                error.kind,
                await sealed.withdraw(memory)
                    ? "\(error.description); it is not enrolled any more"
                    : "\(error.description); revoke \(deviceName) on a device that may write, with: dewpoint key revoke"
            )
        }
    }

    /// Takes the request back: nobody waits for the answer any more.
    package func cancel() async {
        // It may have been accepted just now.
        if let memory = try? await enrolment.answer() { _ = await sealed.withdraw(memory) }
        await enrolment.remove()
    }

    private func answer(within limit: Duration) async throws(DaemonError) -> KeyringMemory {
        let end = ContinuousClock.now + limit
        while ContinuousClock.now < end {
            if let memory = try await answer() { return memory }
            do { try await Task.sleep(for: Self.interval) } catch {
                throw DaemonError(.failed, "cancelled before this device was enrolled")
            }
        }
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
        let store: SealedStore
        do throws(KeyringError) {
            store = SealedStore(self.store, keys: try memory.keys(), history: SealedHistory(try memory.authority()))
        } catch {
            throw DaemonError(error, url: location.url)
        }
        let identity: ContainerIdentity
        do throws(StoreError) { identity = try await Container.open(in: store).identity } catch {
            throw DaemonError(error, url: location.url)
        }
        let place =
            state
            ?? StateDirectory(container: identity.id, environment: ProcessInfo.processInfo.environment)
        try place.keep(memory, of: identity, at: location)
        return place
    }
}

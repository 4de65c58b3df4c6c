import Control
import Foundation
import Linux
import Metering
package import Model
package import Remote
package import Sealing

/// The container at a location: created by `container create` and opened by `mount`.
package struct RemoteContainer: Sendable {
    package let location: ContainerLocation
    let container: Container
    let link: LinkControl
    let metrics: MetricRegistry
    /// An encrypted container that was opened by asking its store; else `nil`.
    private(set) var unlocked: UnlockedContainer?
    /// Whether the store lets this device change the container, as far as it was asked.
    package internal(set) var access = WriteAccess.writable

    package var identity: ContainerIdentity { container.identity }

    var url: String { location.url }

    var isEncrypted: Bool { container.store is SealedStore }

    /// - Parameter isCopy: Whether it is begun as a copy: then it is a container when that is finished.
    /// - Throws: ``DaemonError`` with `cannotCreate` within another container: its garbage collection would see the
    ///   objects of both.
    package static func create(
        at location: ContainerLocation, identity: ContainerIdentity, isCopy: Bool = false
    ) async throws(DaemonError) {
        try await refuseInside(location)
        do throws(StoreError) {
            let store = try location.openStore(createIfMissing: true)
            if isCopy {
                try await CopyMark.begin(in: store, identity: identity)
            } else {
                try await Container.create(in: store, identity: identity)
            }
        } catch {
            throw DaemonError(error, url: location.url)
        }
    }

    /// Creates an encrypted container.
    ///
    /// - Parameter isCopy: Whether it is begun as a copy: then this device is not enrolled, and only the passphrase and the
    ///   code open it.
    /// - Returns: For the state of this device; see ``StateDirectory/record(_:)``.
    /// - Throws: As ``create(at:identity:)``.
    package static func createEncrypted(
        at location: ContainerLocation, identity: ContainerIdentity, passphrase: Passphrase, recovery: RecoveryCode,
        deviceName: String, isCopy: Bool = false
    ) async throws(DaemonError) -> KeyringMemory {
        try await refuseInside(location)
        let store: any ObjectStore
        do throws(StoreError) { store = try location.openStore(createIfMissing: true) } catch {
            throw DaemonError(error, url: location.url)
        }
        do throws(KeyringError) {
            return try await SealedContainer.create(
                in: store, identity: identity, passphrase: passphrase,
                recovery: recovery, deviceName: deviceName, time: ContainerKeys.now, isCopy: isCopy)
        } catch {
            throw DaemonError(error, url: location.url)
        }
    }

    private static func refuseInside(_ location: ContainerLocation) async throws(DaemonError) {
        for outer in location.outerLocations where outer.mayBeContainer {
            let found: String
            do throws(StoreError) {
                found =
                    switch try await SealedContainer.look(in: try outer.openStore(createIfMissing: false)) {
                    case .sealed: "the encrypted container"
                    case .plain(let container): "the container \(container.identity.id)"
                    }
            } catch {
                // It would follow for the place itself too, after another wait.
                if error.isTransient { throw DaemonError(error, url: location.url) }
                // Where nothing can be read, there is no container of this user.
                continue
            }
            throw DaemonError(creating: location.url, inside: outer.url, found)
        }
    }

    /// Opens a container by asking its store.
    ///
    /// - Parameters:
    ///   - state: Where to look first for what opens an encrypted container; then in all states of this user.
    ///   - unlocking: Asks for it when there is nothing.
    ///   - link: An artificial slowdown of the link to the store.
    ///   - isCopy: Whether it may be an unfinished copy.
    package static func open(
        _ location: ContainerLocation, state: StateDirectory? = nil, unlocking: Unlocking = .refused,
        link: DaemonOptions.Link? = nil, isCopy: Bool = false
    ) async throws(DaemonError) -> RemoteContainer {
        let (control, metrics) = (LinkControl(link?.settings ?? LinkSettings()), MetricRegistry())
        let found: SealedContainer.Found
        do throws(StoreError) {
            let store = control.conditioning(try location.openStore(createIfMissing: false, metrics: metrics))
            let copy = isCopy ? try await SealedContainer.unfinishedCopy(in: store) : nil
            if let copy { found = copy } else { found = try await SealedContainer.examine(store) }
        } catch {
            throw DaemonError(error, url: location.url)
        }
        guard case .sealed(let sealed) = found else {
            guard case .plain(let container) = found, !unlocking.isExpected else {
                throw DaemonError(
                    .usage,
                    "the container at \(location.url) is not encrypted, although a passphrase file was given, or an "
                        + "encrypted one was asked for; if it should be, somebody has exchanged it")
            }
            return RemoteContainer(location: location, container: container, link: control, metrics: metrics)
        }
        let unlocked = try await unlock(sealed, at: location, state: state, unlocking)
        do throws(StoreError) {
            return RemoteContainer(
                location: location, container: try await Container.open(in: unlocked.store), link: control,
                metrics: metrics, unlocked: unlocked)
        } catch {
            guard error.code == .notFound else { throw DaemonError(error, url: location.url) }
            // There is a container: its keyring was opened.
            throw DaemonError(
                StoreError(.corrupt, key: unlocked.descriptionKey, "it is missing"), url: location.url)
        }
    }

    private static func unlock(
        _ sealed: SealedContainer, at location: ContainerLocation, state: StateDirectory?, _ unlocking: Unlocking
    ) async throws(DaemonError) -> UnlockedContainer {
        // From here on, keys are in memory.
        CoreDumps.forbid()
        let others = StateDirectory.all(ProcessInfo.processInfo.environment, countingBackups: true).joined()
        let own = StateDirectory.keyring(of: sealed.uuid, among: [state].compactMap(\.self))
        do throws(KeyringError) {
            if let memory = own ?? StateDirectory.keyring(of: sealed.uuid, among: others) {
                return try await sealed.open(memory)
            }
        } catch {
            // Revoked, or a guest when the keys have changed, or the state is that of another copy: somebody may know the
            // passphrase.
            guard error == .notEnrolled || own == nil else { throw DaemonError(error, url: location.url) }
        }
        let secret: PersonalSecret
        do throws(DaemonError) { secret = try await unlocking.ask(location.url) } catch {
            // Why this device does not open it by itself.
            guard let damage = state?.keyringFault else { throw error }
            throw DaemonError(error.kind, "\(error.description); \(damage)")
        }
        do throws(KeyringError) { return try await sealed.unlock(secret) } catch {
            let failure = DaemonError(error, url: location.url)
            guard error == .wrongSecret, case .passphrase(let passphrase) = secret, passphrase.resemblesRecoveryCode
            else { throw failure }
            throw DaemonError(
                failure.kind,
                failure.description
                    + "; if it is the recovery code, a letter of it is wrong or missing: compare it with "
                    + "the paper, group by group")
        }
    }

    /// Enrols the device of a state in an encrypted container that was opened by a person, or with another state of this
    /// user.
    ///
    /// - Returns: What the state is to keep; `nil` when the container is plain.
    /// - Throws: ``DaemonError`` with `usage` when it is the state of another container, `cannotCreate` when it has no room
    ///   for the keys.
    package func enrolled(
        _ state: StateDirectory, at location: ContainerLocation, deviceName: String
    ) async throws(DaemonError) -> KeyringMemory? {
        guard var unlocked else { return nil }
        // Before: a device that cannot keep its keys would be enrolled for good.
        try state.checkMayKeep(keysOf: unlocked.newest.container, container.identity, at: location)
        let known = try state.keyring()
        if let memory = unlocked.memory, memory.isGuest || memory.device == known?.device { return memory }
        try state.checkRoom(forKeyring: unlocked.keptByteCount)
        do throws(KeyringError) {
            return try await unlocked.enrol(deviceName: deviceName, time: ContainerKeys.now)
        } catch {
            throw DaemonError(error, url: url)
        }
    }

    /// Sets the quota of the container at a location, or removes it; see ``Container/setQuota(_:in:)``.
    ///
    /// - Returns: The container's identity with it.
    package static func setQuota(
        _ quota: ContainerQuota?, at location: ContainerLocation, unlocking: Unlocking
    ) async throws(DaemonError) -> ContainerIdentity {
        let remote = try await open(location, unlocking: unlocking)
        do throws(StoreError) {
            return try await Container.setQuota(quota, in: remote.container.store)
        } catch {
            throw DaemonError(error, url: location.url)
        }
    }

    /// Asks the store whether this device may change the container, and refuses a store on which two devices could
    /// overwrite each other's changes.
    mutating func askAccess() async throws(DaemonError) {
        do throws(StoreError) {
            access = try await container.writeAccess()
        } catch {
            throw DaemonError(error, url: url)
        }
    }

    /// The same for a container that is mounted whatever its store says.
    ///
    /// - Parameters:
    ///   - limit: How long the store may take to answer.
    ///   - last: What applies when it does not, or not to this question: the answer of the last time.
    mutating func askAccess(within limit: Duration, otherwise last: WriteAccess) async {
        access = await container.writeAccess(within: limit) ?? last
    }
}

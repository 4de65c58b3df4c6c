import Control
import Foundation
import Linux
import Metering
package import Model
import Remote
package import Sealing

/// The facts that a state directory records about its container, so that it is mounted again without asking the store:
///
///     container.json    the identity, as in the store's `container.json` at the first mount;
///                       the index knows a quota that was changed since
///     daemon.json       the location that it belongs to, and whether its store let this device write
///     keyring.json      what opens an encrypted container; see ``StateDirectory/keyring()``
extension StateDirectory {
    private var identityFile: String { "\(path)/container.json" }

    /// The state of the container at a location, among those in the default place.
    ///
    /// - Returns: `nil` if there is none, or more than one: then the store must be asked which container it holds.
    package static func known(
        _ location: ContainerLocation, environment: [String: String], user: UInt32 = geteuid()
    ) -> StateDirectory? {
        let places = all(environment, user: user).lazy.map { $0.filter { $0.identity(of: location) != nil } }
        // One in the place for new states wins over the others.
        guard let found = places.first(where: { !$0.isEmpty }), found.count == 1 else { return nil }
        return found[0]
    }

    /// The identity of the container of this state, wherever it is now.
    private var identity: ContainerIdentity? {
        guard let data = FileManager.default.contents(atPath: identityFile) else { return nil }
        return try? ForeignJSON.decode(ContainerIdentity.self, from: data)
    }

    /// The identity of the container at a location; `nil` if this is not its state, or there is no state yet.
    package func identity(of location: ContainerLocation) -> ContainerIdentity? {
        // An unreadable identity counts as unknown: the store is asked, and reports the error.
        (try? self.location()) == location ? identity : nil
    }

    /// Records the container of this state, and the rest; see ``record(_:deviceName:access:)``.
    func record(
        _ identity: ContainerIdentity, at location: ContainerLocation, deviceName: String? = nil,
        access: WriteAccess? = nil
    ) throws(DaemonError) {
        let isEncrypted = try keyring() != nil
        guard self.identity(of: location) != identity else {
            return try record(location, deviceName: deviceName, access: access, isEncrypted: isEncrypted)
        }
        do {
            try JSONEncoder().encode(identity).write(to: URL(filePath: identityFile), options: .atomic)
        } catch {
            throw DaemonError(.failed, "\(identityFile) cannot be written: \(error.localizedDescription)")
        }
        try record(location, deviceName: deviceName, access: access, isEncrypted: isEncrypted)
    }

    /// Makes the state of an encrypted container that was just created or unlocked, so that it is mounted without asking.
    ///
    /// - Throws: As ``checkMayKeep(keysOf:_:at:)``.
    package func keep(
        _ memory: KeyringMemory, of identity: ContainerIdentity, at location: ContainerLocation
    ) throws(DaemonError) {
        try make()
        try checkMayKeep(keysOf: memory.container, identity, at: location)
        try record(memory)
    }

    /// - Parameter container: The UUID of its keyring.
    /// - Throws: ``DaemonError`` with `usage` when it is the state of another container.
    func checkMayKeep(
        keysOf container: UUID, _ identity: ContainerIdentity, at location: ContainerLocation
    ) throws(DaemonError) {
        let other = try? self.location()
        // The same container may have moved to another place, or have been copied into an encrypted one.
        guard self.identity.map({ $0.uuid == identity.uuid }) ?? (other == nil || other == location) else {
            throw DaemonError(
                .usage,
                "\(path) is the state of another container\(other.map { ", \($0.url)" } ?? "")"
                    + "; give this one its own --state DIR")
        }
        try checkHasNoOther(than: container)
    }

    /// - Throws: ``DaemonError`` with `usage` when it has the keyring of another container.
    func checkHasNoOther(than container: UUID) throws(DaemonError) {
        // Of one that was created here, and not mounted yet.
        if let known = try? keyring(), known.container != container {
            throw DaemonError(
                .usage,
                "\(path) has what opens another encrypted container of the same identifier; give this one its own --state "
                    + "DIR, or remove that directory if the other one is gone")
        }
    }

    /// Writes as much as the keys of a device take, before it is enrolled for good, and keeps nothing of it.
    ///
    /// - Throws: ``DaemonError`` with `cannotCreate`.
    func checkRoom(forKeyring byteCount: Int) throws(DaemonError) {
        try make()
        do throws(FileError) {
            let trial = try NamelessFile(in: path)
            // Not zeros, of which a disk that compresses would keep nothing.
            let bytes = (0..<byteCount).map { _ in UInt8.random(in: 0...255) }
            try bytes.withBytes { bytes throws(FileError) in try trial.file.append(bytes) }
            try trial.file.synchronize()
        } catch {
            throw DaemonError(
                .cannotCreate,
                "the keys of this device cannot be kept in \(path), so it was not enrolled: "
                    + String(cString: strerror(error.number)))
        }
    }

    /// Whether what opens an encrypted container is missing in its state.
    package var lacksKeyring: Bool { isEncrypted && (try? keyring()) == nil }
}

extension RemoteContainer {
    /// The container at a location that was mounted with this state before; otherwise the store is asked.
    ///
    /// A known container is mounted whether its store answers or not: the file system verifies that it is the right one
    /// before anything is sent or applied. Whether this device may change it is as last time if the store does not say.
    ///
    /// - Throws: ``DaemonError`` with `unreachable` when the store does not answer and the container is not known.
    package static func open(
        _ location: ContainerLocation, state: StateDirectory, link: DaemonOptions.Link? = nil, asksAccess: Bool = true
    ) async throws(DaemonError) -> RemoteContainer {
        let memory = try state.keyring()
        let identity = state.identity(of: location)
        guard memory != nil || (identity != nil && !state.isEncrypted) else {
            var remote = try await open(location, link: link)
            try await remote.askAccess()
            return remote
        }
        let (control, metrics) = (LinkControl(link?.settings ?? LinkSettings()), MetricRegistry())
        let lazy = LazyStore { () throws(StoreError) in
            try location.openStore(createIfMissing: false, metrics: metrics)
        }
        var store = control.conditioning(lazy)
        if let memory { store = try sealing(store, memory, state, url: location.url) }
        let container: Container
        do throws(StoreError) {
            container =
                if let identity { Container(store: store, identity: identity) } else {
                    try await Container.open(in: store)
                }
        } catch {
            if memory != nil, error.code == .notFound, await isPlain(control.conditioning(lazy)) {
                throw DaemonError(
                    .usage,
                    "the container at \(location.url) is not encrypted, and the state \(state.path) is that of an encrypted one: "
                        + "mount that, such as the copy that was made of this one, or give another --state DIR; if this one was "
                        + "encrypted, somebody has exchanged it")
            }
            throw DaemonError(error, url: location.url)
        }
        var remote = RemoteContainer(location: location, container: container, link: control, metrics: metrics)
        await remote.askAccess(within: asksAccess ? accessLimit : .zero, otherwise: state.lastAccess)
        if let memory, (try? memory.mayWrite()) == false {
            remote.access = .readOnly(reason: RemoteContainer.readerReason)
        }
        return remote
    }

    private static func isPlain(_ store: any ObjectStore) async -> Bool {
        // Whatever is wrong with it, it is not the one that is looked for.
        (try? await Container.open(in: store)) != nil
    }

    /// A store that follows the keyring, and keeps each new version in the state.
    private static func sealing(
        _ store: any ObjectStore, _ memory: KeyringMemory, _ state: StateDirectory, url: String
    ) throws(DaemonError) -> any ObjectStore {
        CoreDumps.forbid()
        do throws(KeyringError) {
            let keyring = try OpenKeyring(memory, store: store, notebook: KeyringFile(state: state))
            let history = SealedHistory(keyring, notebook: HistoryFile(state: state))
            return SealedStore(store, keys: keyring, history: history)
        } catch {
            throw DaemonError(error, url: url)
        }
    }

    /// How long the mount of a known container waits for the store to say whether this device may change it: 3 s.
    private static let accessLimit = Duration.seconds(3)
}

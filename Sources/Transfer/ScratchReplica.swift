import Glibc
package import Logging
package import Model
package import Remote
import Replica
package import Sync

/// A temporary device for one command: it reads the container by the same rules as any other, but mounts nothing, keeps
/// no bytes, and is removed afterwards.
///
/// Its index is in a ``ScratchDirectory``. If a command is killed, the next one removes its index.
package final class ScratchReplica: Sendable {
    let sync: SyncEngine
    private let directory: ScratchDirectory

    /// A private directory, which is removed with the index.
    var path: String { directory.path }

    /// - Parameters:
    ///   - remote: The location of the container, for people.
    ///   - deviceName: The name of this device, shown on other devices.
    ///   - scratch: A directory with room for the index: some hundred bytes for each item.
    package init(
        container: Container, remote: String, deviceName: String, scratch: String, environment: EngineEnvironment,
        logger: Logger
    ) throws(FileError) {
        do throws(FileError) {
            directory = try ScratchDirectory(in: scratch, number: environment.makeUUID())
        } catch {
            throw Self.noPlace(in: scratch, error)
        }
        do throws(FileError) {
            let context = try SyncContext(
                identity: container.identity,
                location: DeviceLocation(
                    remote: remote, state: directory.path, mountpoint: "", deviceName: deviceName),
                environment: environment, logger: logger, owner: geteuid(), group: getegid())
            let store = WatchedStore(container.store, patience: Self.patience, context)
            sync = SyncEngine(
                context, identity: container.identity, store: store, local: NoLocalFiles(replica: context.replica),
                coordination: NoCoordination())
        } catch {
            directory.remove()
            throw Self.noPlace(in: scratch, error)
        }
    }

    private static func noPlace(in scratch: String, _ error: FileError) -> FileError {
        FileError(error.code, "cannot create a scratch index in \(scratch): \(error.detail)")
    }

    /// How long a store may be silent before it counts as unreachable.
    private static let patience = Duration.seconds(20)

    /// Brings the index to the newest commit.
    package func catchUp() async throws(FileError) {
        try await Self.translating { _ = try await self.sync.follower.catchUp() }
    }

    /// Whether the container has what its files need; see ``SyncEngine/check(readingBytes:)``.
    ///
    /// - Returns: What is wrong, in sentences.
    package func check() async throws(FileError) -> [String] {
        try await catchUp()
        return try await sync.check()
    }

    /// The pauses between attempts while the store does not answer.
    static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(4), .seconds(8)]

    /// Retries a call a few times while the store does not answer.
    func persistently<Value>(_ body: () async throws -> Value) async throws -> Value {
        try await sync.context.environment.persistently(Self.pauses, body)
    }

    /// Closes the replica and removes its index.
    package func leave() {
        sync.replica.abandon()
        directory.remove()
    }

    /// Translates the errors of the engine's parts to the one type of its facade.
    static func translating<Value>(_ body: () async throws -> Value) async throws(FileError) -> Value {
        do { return try await body() } catch { throw translated(error) }
    }

    static func translated(_ error: any Error) -> FileError {
        switch error {
        case let error as FileError: error
        case let error as StoreError: error.fileError
        default: FileError(.cancelled, "it was interrupted")
        }
    }
}

extension ScratchReplica {
    var now: Timestamp { sync.context.environment.now() }

    /// Which names are synced.
    var syncRule: SyncRule {
        SyncRule(sync.container.identity, isLocalOnly: sync.replica.isLocalOnly)
    }

    /// The record of a new item.
    func record(
        _ name: ItemName, in parent: ItemID, _ kind: ItemKind, mode: UInt16, modified: Timestamp
    ) -> ItemRecord {
        ItemRecord(
            id: ItemID(uuid: sync.context.environment.makeUUID()), parent: parent, name: name, kind: kind, mode: mode,
            modified: modified, device: sync.replica.device, base: 0)
    }
}

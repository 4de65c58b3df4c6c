import Glibc
package import Logging
package import Model
package import Remote
import Replica
package import Sync

/// A device that is there for one command: it knows the container by the same rules as any other, but mounts nothing, keeps no
/// bytes, and is gone afterwards.
///
/// Its index is in a ``ScratchDirectory``. What a command that was killed left there goes with the next one.
package final class ScratchReplica: Sendable {
    let sync: SyncEngine
    private let directory: ScratchDirectory

    /// - Parameters:
    ///   - remote: Where the container is, for people.
    ///   - deviceName: The name of this device, for other devices to see.
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
            let store = WatchedStore(container.store, patience: Self.patience, environment: environment)
            sync = SyncEngine(
                context, identity: container.identity, store: store, local: NoLocalFiles(replica: context.replica),
                coordination: NoCoordination())
        } catch {
            directory.remove()
            throw Self.noPlace(in: scratch, error)
        }
    }

    private static func noPlace(in scratch: String, _ error: FileError) -> FileError {
        FileError(error.code, "there is no place for a scratch index in \(scratch): \(error.detail)")
    }

    /// How long a store may be silent before it counts as unreachable.
    private static let patience = Duration.seconds(20)

    /// Brings the index to the newest commit.
    package func catchUp() async throws(FileError) {
        try await Self.translating { _ = try await self.sync.follower.catchUp() }
    }

    /// The pauses between attempts while the store does not answer.
    static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(4), .seconds(8)]

    /// Does something again while the store does not answer, a few times.
    func persistently<Value>(_ body: () async throws -> Value) async throws -> Value {
        try await sync.context.environment.persistently(Self.pauses, body)
    }

    /// Ends the visit; the index goes.
    package func leave() {
        sync.replica.abandon()
        directory.remove()
    }

    /// Gives what the parts of the engine throw the one type that its facade throws.
    static func translating<Value>(_ body: () async throws -> Value) async throws(FileError) -> Value {
        do { return try await body() } catch { throw translated(error) }
    }

    static func translated(_ error: any Error) -> FileError {
        switch error {
        case let error as FileError: error
        case let error as StoreError: error.fileError
        default: FileError(.cancelled, "it was cut off")
        }
    }
}

extension ScratchReplica {
    var now: Timestamp { sync.context.environment.now() }

    /// Which names reach the container.
    var travelRule: SyncRule {
        SyncRule(sync.container.identity, isLocalOnly: sync.replica.isLocalOnly)
    }

    /// The record of an item that is new.
    func record(
        _ name: ItemName, in parent: ItemID, _ kind: ItemKind, mode: UInt16, modified: Timestamp
    ) -> ItemRecord {
        ItemRecord(
            id: ItemID(uuid: sync.context.environment.makeUUID()), parent: parent, name: name, kind: kind, mode: mode,
            modified: modified, device: sync.replica.device, base: 0)
    }
}

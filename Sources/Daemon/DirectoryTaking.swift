import FileSystem
import Glibc
import Linux
import Logging
import Model
import Mount
import Remote
import Replica

/// Turns the directory that is mounted on into the contents of the mount: `dewpoint take`.
///
/// It is mounted on first, so that a program that looks for a file there waits meanwhile and finds it in the mount.
struct DirectoryTaking {
    private let mountpoint: String
    /// Opened before anything is mounted on it: by its path it is out of reach afterwards.
    private let directory: Descriptor
    private let isContinued: Bool
    private let logger: Logger

    /// - Parameter isAsked: Whether to begin one; one that was begun is continued in any case.
    /// - Returns: `nil` where there is nothing to take.
    /// - Throws: `usage` where another directory is being taken over with this state, `cannotCreate` where state or container are
    ///   not new.
    init?(
        at mountpoint: String, isAsked: Bool, into fileSystem: FileSystem, remote: RemoteContainer, logger: Logger
    ) async throws(DaemonError) {
        let state = fileSystem.replica.state.path
        self.mountpoint = mountpoint
        self.logger = logger
        do throws(FileError) {
            let noted = try fileSystem.replica.taking
            guard isAsked || noted != nil else { return nil }
            if let noted, !noted.directory.isBytewiseEqual(to: mountpoint) {
                throw FileError(
                    .invalid,
                    "the state \(state) is taking over \(noted.directory), which was interrupted; finish that first: dewpoint take "
                        + "\(noted.directory) \(remote.url)")
            }
            isContinued = noted != nil
            directory = try SystemCalls.openDirectory(resolved: mountpoint)
            // Empty since an earlier run has taken everything, say, and was killed then.
            if noted == nil, try SystemCalls.names(in: directory).isEmpty { return nil }
        } catch {
            throw DaemonError(error, state: state)
        }
        if !isContinued { try await Self.checkIsNew(fileSystem.replica, remote) }
    }

    /// What is in the container would have to be merged with what is in the directory.
    private static func checkIsNew(_ replica: Replica, _ remote: RemoteContainer) async throws(DaemonError) {
        let hasItems: Bool
        do throws(FileError) { hasItems = try replica.read { try $0.hasItems } } catch {
            throw DaemonError(error, state: replica.state.path)
        }
        guard hasItems else { return try await remote.checkIsNew() }
        throw DaemonError(
            .cannotCreate, "the state \(replica.state.path) has items already; give a new one with --state DIR")
    }

    /// Takes it over. Blocks. Nothing is served meanwhile.
    func run(_ fileSystem: FileSystem) throws(FileError) {
        let start = ContinuousClock.now
        let tree = try fileSystem.replica.take(directory, at: mountpoint)
        try fileSystem.watchOpenElsewhere()
        logger.notice(
            "took over the directory",
            metadata: [
                "mountpoint": "\(mountpoint)", "items": "\(tree.itemCount)", "bytes": "\(tree.byteCount)",
                "unsynced": "\(tree.unsyncedCount)", "duration": "\(ContinuousClock.now - start)",
            ])
    }
}

extension RemoteContainer {
    /// - Throws: `cannotCreate` unless nothing was ever uploaded to it, so that a directory can be taken into it.
    package func checkIsNew() async throws(DaemonError) {
        do throws(StoreError) {
            guard try await ChangeLog(store: container.store).first(after: 0) != nil else { return }
        } catch {
            throw DaemonError(error, url: url)
        }
        throw DaemonError(
            .cannotCreate,
            "the container at \(url) has items already; take the directory into a new one, or mount this one elsewhere and copy the "
                + "directory into it")
    }
}

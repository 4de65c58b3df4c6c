import FileSystem
import Foundation
import Logging
import Model
import Sync
import Transfer

/// Checks a state whose daemon is not running.
package enum OfflineCheck {
    /// - Parameter readingBytes: Whether to download every byte that the files need, and to verify it.
    /// - Returns: Every disagreement of index, backing directory and container, as a sentence; empty when they agree.
    package static func run(_ state: StateDirectory, readingBytes: Bool) async throws -> [String] {
        let remote = try await RemoteContainer.open(try state.location(), state: state)
        do throws(FileError) {
            let fileSystem = try FileSystem(
                container: remote.container,
                location: DeviceLocation(remote: remote.url, state: state.path, mountpoint: "", deviceName: ""),
                options: FileSystemOptions(), environment: .system,
                logger: DaemonService.logger("check", level: .warning), owner: geteuid(), group: getegid())
            let problems: [String]
            do throws(FileError) {
                // Opening repaired the damage of an unclean exit; the repairs count as problems.
                problems =
                    fileSystem.repairs.map { "repaired: \($0)" }
                    + (try await fileSystem.syncEngine.check(readingBytes: readingBytes))
            } catch {
                try fileSystem.shutDown()
                throw error
            }
            try fileSystem.shutDown()
            return problems
        } catch {
            if error.code == .busy {
                throw DaemonError(.busy, "a daemon uses the state \(state.path); run: dewpoint check MOUNTPOINT")
            }
            throw DaemonError(error, state: state.path)
        }
    }
}

import FileSystem
import Logging
import Model

/// The daemon in which requests of the control API are performed.
struct ControlledDaemon: Sendable {
    let fileSystem: FileSystem
    /// The place of the daemon's log.
    let state: StatePlace
    /// Unmounts, lazily or not, or throws the reason why it cannot.
    let unmount: @Sendable (Bool) async throws(FileError) -> Void
    let logger: Logger
    let monitoring: Monitoring
    let link: LinkControl
    let logLevel: LogLevel
}

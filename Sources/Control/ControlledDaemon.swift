package import FileSystem
package import Logging
package import Model
import Replica
import Sync

/// The daemon in which requests of the control API are performed.
package struct ControlledDaemon: Sendable {
    package let fileSystem: FileSystem
    let transferMeter = TransferMeter()
    let link: LinkControl
    let logLevel: LogLevel
    package let logger: Logger
    /// The last lines of the daemon's own log, as many as are asked for.
    let logTail: @Sendable (Int) throws(FileError) -> LogTail
    /// Unmounts, lazily or not, or throws the reason why it cannot.
    let unmount: @Sendable (Bool) async throws(FileError) -> Void
    /// Ends the daemon, so that the program at the path that it was started from takes its place; or throws the reason why that
    /// cannot be.
    let giveWay: @Sendable (_ program: String) throws(FileError) -> Void

    package init(
        _ fileSystem: FileSystem, link: LinkControl, logLevel: LogLevel, logger: Logger,
        logTail: @escaping @Sendable (Int) throws(FileError) -> LogTail,
        unmount: @escaping @Sendable (Bool) async throws(FileError) -> Void,
        giveWay: @escaping @Sendable (_ program: String) throws(FileError) -> Void
    ) {
        self.fileSystem = fileSystem
        self.link = link
        self.logLevel = logLevel
        self.logger = logger
        self.logTail = logTail
        self.unmount = unmount
        self.giveWay = giveWay
    }
}

extension ControlledDaemon {
    package var states: ItemStates { ItemStates(fileSystem) }
    package var commands: ItemCommands { ItemCommands(fileSystem) }
    package var versions: ItemVersions { ItemVersions(fileSystem) }
    package var sync: ContainerSync { ContainerSync(fileSystem) }
    var syncEngine: SyncEngine { fileSystem.syncEngine }
    var replica: Replica { syncEngine.replica }
    var environment: EngineEnvironment { syncEngine.context.environment }
    var activity: Activity { syncEngine.context.activity }
    var location: DeviceLocation { syncEngine.context.location }
    var kernel: any KernelCache { fileSystem.files.kernel }
}

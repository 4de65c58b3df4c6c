package import ControlAPI
import FileSystem
import Logging
package import Model
import Sync

extension ContainerStatusRequest: PerformedQuestion {
    package func perform(in daemon: ControlledDaemon) throws(FileError) -> ContainerStatus {
        var status = try daemon.fileSystem.containerStatus()
        let settings = daemon.link.settings
        if !settings.isUnchanged { status.link = settings }
        return status
    }
}

extension DevicesRequest: PerformedQuestion {
    package func perform(in daemon: ControlledDaemon) throws(FileError) -> [KnownDevice] {
        try daemon.fileSystem.devices()
    }
}

extension LogRequest: PerformedQuestion {
    package func perform(in daemon: ControlledDaemon) throws(FileError) -> LogTail {
        try daemon.logTail(lines ?? LogTail.usualLineCount)
    }
}

extension LocksRequest: PerformedQuestion {
    package func perform(in daemon: ControlledDaemon) throws(FileError) -> [LockListing] {
        try daemon.fileSystem.locks()
    }
}

extension BreakRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) throws(FileError) { try daemon.fileSystem.breakClaim(id) }
}

extension CheckRequest: PerformedOrder {
    package func perform(in daemon: ControlledDaemon) async throws(FileError) -> CheckReport {
        CheckReport(problems: try await daemon.fileSystem.syncEngine.check(readingBytes: bytes ?? false))
    }
}

extension GarbageRequest: PerformedOrder {
    package func perform(in daemon: ControlledDaemon) async throws(FileError) -> GarbageReport {
        if let graceSeconds, !(0...Self.graceLimitSeconds).contains(graceSeconds) {
            throw FileError(.invalid, "the grace period must be 0 to \(Self.graceLimitSeconds) seconds")
        }
        return try await daemon.fileSystem.syncEngine.collectGarbage(
            grace: graceSeconds.map { .seconds($0) }, isDryRun: dryRun)
    }
}

extension CurrentLinkRequest: PerformedQuestion {
    package func perform(in daemon: ControlledDaemon) -> LinkSettings { daemon.link.settings }
}

extension LinkRequest: PerformedOrder {
    package func perform(in daemon: ControlledDaemon) throws(FileError) -> LinkSettings {
        try daemon.link.set(link)
        daemon.logger.notice("the link to the store is now \(daemon.link.settings.text)")
        return daemon.link.settings
    }
}

extension CurrentLogLevelRequest: PerformedQuestion {
    package func perform(in daemon: ControlledDaemon) -> LogLevelReport {
        LogLevelReport(level: daemon.logLevel.level.rawValue)
    }
}

extension LogLevelRequest: PerformedOrder {
    package func perform(in daemon: ControlledDaemon) throws(FileError) -> LogLevelReport {
        guard let level = Logger.Level(nameOrNumber: level) else {
            let names = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw FileError(.invalid, "a level is 0 to 7, or one of \(names), not \(level)")
        }
        daemon.logger.notice("the level of the log is now \(level)")
        daemon.logLevel.level = level
        return LogLevelReport(level: level.rawValue)
    }
}

extension UnmountRequest: DoneOrder {
    /// It stops the daemon.
    package static var endsWithDaemon: Bool { false }

    package func perform(in daemon: ControlledDaemon) async throws(FileError) { try await daemon.unmount(lazily) }
}

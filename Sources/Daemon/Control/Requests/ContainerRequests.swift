import ControlAPI
import FileSystem
import Hummingbird
import Logging
import Model
import Sync

extension ContainerStatusRequest: PerformedQuestion {
    func perform(in daemon: ControlledDaemon) throws(FileError) -> ContainerStatus {
        var status = try daemon.fileSystem.containerStatus()
        let settings = daemon.link.settings
        if !settings.isUnchanged { status.link = settings }
        return status
    }
}

extension DevicesRequest: PerformedQuestion {
    func perform(in daemon: ControlledDaemon) throws(FileError) -> [KnownDevice] { try daemon.fileSystem.devices() }
}

extension LogRequest: PerformedQuestion {
    func perform(in daemon: ControlledDaemon) throws(FileError) -> LogTail {
        LogTail(lines: try daemon.state.ownLogTail(lineCount: lines ?? LogTail.usualLineCount))
    }
}

extension LocksRequest: PerformedQuestion {
    func perform(in daemon: ControlledDaemon) throws(FileError) -> [LockListing] { try daemon.fileSystem.locks() }
}

extension BreakRequest: DoneOrder {
    func perform(in daemon: ControlledDaemon) throws(FileError) { try daemon.fileSystem.breakClaim(id) }
}

extension CheckRequest: PerformedOrder {
    func perform(in daemon: ControlledDaemon) async throws(FileError) -> CheckReport {
        CheckReport(problems: try await daemon.fileSystem.syncEngine.check(readingBytes: bytes ?? false))
    }
}

extension GarbageRequest: PerformedOrder {
    func perform(in daemon: ControlledDaemon) async throws(FileError) -> GarbageReport {
        if let graceSeconds, !(0...Self.graceLimitSeconds).contains(graceSeconds) {
            throw FileError(.invalid, "the grace period must be 0 to \(Self.graceLimitSeconds) seconds")
        }
        return try await daemon.fileSystem.syncEngine.collectGarbage(
            grace: graceSeconds.map { .seconds($0) }, isDryRun: dryRun)
    }
}

extension CurrentLinkRequest: PerformedQuestion {
    func perform(in daemon: ControlledDaemon) -> LinkSettings { daemon.link.settings }
}

extension LinkRequest: PerformedOrder {
    func perform(in daemon: ControlledDaemon) throws(FileError) -> LinkSettings {
        try daemon.link.set(link)
        daemon.logger.notice("the link to the store is now \(daemon.link.settings.text)")
        return daemon.link.settings
    }
}

extension CurrentLogLevelRequest: PerformedQuestion {
    func perform(in daemon: ControlledDaemon) -> LogLevelReport {
        LogLevelReport(level: daemon.logLevel.level.rawValue)
    }
}

extension LogLevelRequest: PerformedOrder {
    func perform(in daemon: ControlledDaemon) throws(FileError) -> LogLevelReport {
        guard let level = Logger.Level(nameOrNumber: level) else {
            let names = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw FileError(.invalid, "a level is 0 to 7, or one of \(names), not \(level)")
        }
        daemon.logger.notice("the level of the log is now \(level)")
        daemon.logLevel.level = level
        return LogLevelReport(level: level.rawValue)
    }
}

extension MetricsRequest: AnsweredRequest {
    static func answer(_ exchange: ControlExchange) throws -> Response { try exchange.daemon.monitoring.metrics() }
}

extension HealthRequest: AnsweredRequest {
    static func answer(_ exchange: ControlExchange) -> Response { exchange.daemon.monitoring.health() }
}

extension UnmountRequest: DoneOrder {
    /// It stops the daemon.
    static var endsWithDaemon: Bool { false }

    func perform(in daemon: ControlledDaemon) async throws(FileError) { try await daemon.unmount(lazily) }
}

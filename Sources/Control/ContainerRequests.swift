package import ControlAPI
import FileSystem
import Logging
package import Model
import Replica
import Sync

extension DevicesRequest: PerformedQuestion {
    /// The devices that have changed the container, as far as this one has followed it, and this one first.
    package func perform(in daemon: ControlledDaemon) throws(FileError) -> [KnownDevice] {
        let own = daemon.replica.device.description
        let others = try daemon.replica.read { try $0.devices() }.filter { $0.device != own }
        return [KnownDevice(device: own, name: daemon.location.deviceName, isThisDevice: true)]
            + others.map { KnownDevice(device: $0.device, name: $0.name, isThisDevice: false) }
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
    package func perform(in daemon: ControlledDaemon) throws(FileError) { try daemon.fileSystem.claims.breakClaim(id) }
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

extension UpgradeRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) throws(FileError) {
        guard handles == HandleSlots.version, index >= Replica.indexVersion else {
            throw FileError(
                .unsupported, "\(program) cannot go on with what this version leaves; unmount, and mount again")
        }
        try daemon.giveWay(program)
    }
}

extension UnmountRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) async throws(FileError) { try await daemon.unmount(lazily) }
}

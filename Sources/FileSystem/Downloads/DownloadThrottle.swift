import Glibc
import Logging
package import Model
import Sync
import Synchronization

/// Holds processes that download a container by reading everything, and notifies people.
///
/// Consulted once for each open file, at its first read, unless its download was requested explicitly; see
/// ``ThrottleTable``.
package final class DownloadThrottle: Sendable {
    /// The interval at which a held read checks whether it may proceed.
    static let lookPause = Duration.milliseconds(200)

    private let table: Mutex<ThrottleTable>
    private let environment: EngineEnvironment
    private let logger: Logger

    init(options: FileSystemOptions, environment: EngineEnvironment, logger: Logger) {
        table = Mutex(ThrottleTable(fileLimit: options.stormFileLimit, byteLimit: options.stormByteLimit))
        self.environment = environment
        self.logger = logger
    }

    /// Counts a file that a process reads and that is not local.
    ///
    /// - Returns: `nil` when the read may proceed; else a function that waits until it may.
    /// - Throws: ``FileError`` with `downloadRefused` if the process was refused, also from the wait.
    func admit(
        _ process: Int32, byteCount: Int64
    ) throws(FileError) -> (@Sendable () async throws(FileError) -> Void)? {
        let group = ProcessTable.group(of: process) ?? process
        let now = environment.uptime()
        let time = environment.now()
        let (verdict, event) = table.withLock { table in
            table.demand(
                by: group, program: Self.program(group, process), byteCount: byteCount, now: now, time: time,
                hasEnded: ProcessTable.hasEnded)
        }
        log(event, of: group)
        switch verdict {
        case .admitted: return nil
        case .refused: throw Self.refusal(group)
        case .held: return { [self] () async throws(FileError) in try await wait(group) }
        }
    }

    private func wait(_ group: Int32) async throws(FileError) {
        table.withLock { $0.addWaiting(1, to: group) }
        defer { table.withLock { $0.addWaiting(-1, to: group) } }
        while true {
            let (now, time) = (environment.uptime(), environment.now())
            let (verdict, event) = table.withLock { $0.verdict(of: group, now: now, time: time) }
            log(event, of: group)
            switch verdict {
            case .admitted: return
            case .refused: throw Self.refusal(group)
            case .held: break
            }
            do {
                try await environment.sleep(Self.lookPause)
            } catch {
                throw FileError(.interrupted, "the read was interrupted")
            }
        }
    }

    /// Allows or refuses the downloads of a group, for as long as it has processes.
    ///
    /// - Parameter process: Any process of the group, or its number.
    package func answer(_ process: Int32, isAllowed: Bool) throws(FileError) {
        let group = ProcessTable.group(of: process)
        let time = environment.now()
        let isKnown = table.withLock { table in
            [group, process].compactMap(\.self).contains { table.answer($0, isAllowed: isAllowed, time: time) }
        }
        guard isKnown else { throw FileError(.notFound, "process \(process) has not downloaded anything by reading") }
        logger.info("downloads \(isAllowed ? "allowed" : "refused")", metadata: ["processGroup": "\(group ?? process)"])
    }

    /// The groups that were noticed or held and still have processes.
    package var reports: [StormReport] {
        let now = environment.uptime()
        let groups = table.withLock { table in
            table.sweep(now: now, hasEnded: ProcessTable.hasEnded)
            return table.groups
        }
        return groups.filter { $0.value.state != .counted }.sorted { $0.key < $1.key }.map(Self.report)
    }

    private static func report(_ number: Int32, _ group: ThrottleTable.Group) -> StormReport {
        StormReport(
            group: number, program: group.program, state: group.state, since: group.since?.rfc3339 ?? "",
            fileCount: group.fileCount, byteCount: group.byteCount, waitingReadCount: group.waitingCount)
    }

    private func log(_ event: ThrottleTable.Event?, of number: Int32) {
        guard let event, let group = table.withLock({ $0.groups[number] }) else { return }
        let sentence =
            switch event {
            case .noticed: "a program downloads many files by reading them"
            case .held: "a program exceeded the download limit and is blocked; see: dewpoint allow-download"
            case .refused: "a blocked program was not allowed in time: its reads fail with EDEADLK"
            }
        logger.warning(
            "\(sentence)",
            metadata: [
                "program": "\(group.program)", "processGroup": "\(number)", "files": "\(group.fileCount)",
                "bytes": "\(group.byteCount)",
            ])
    }

    private static func refusal(_ group: Int32) -> FileError {
        FileError(.downloadRefused, "process group \(group) exceeded the download limit")
    }

    /// The group's leader while it exists: it says more than one of many helper processes.
    private static func program(_ group: Int32, _ process: Int32) -> String {
        let leader = ProcessTable.command(of: group)
        return leader.isEmpty ? ProcessTable.command(of: process) : leader
    }
}

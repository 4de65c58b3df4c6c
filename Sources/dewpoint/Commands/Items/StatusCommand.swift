import ArgumentParser
import ControlAPI
import ControlClient
import Daemon
import Foundation
import Model

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Shows the sync status of items, or of all mounted containers.",
        discussion: """
            Of a directory, everything below it is counted. The last line says whether everything is uploaded. For the \
            reason of what it shows of one item, see: dewpoint help why
            """)

    @Argument(help: "Items in mounted containers.", completion: .file())
    var paths: [String] = []

    @Flag(help: "Print a JSON array.")
    var json = false

    func run() async throws {
        if paths.isEmpty { try await printContainers() } else { try await printItems() }
    }

    private func printContainers() async throws {
        var statuses: [ContainerStatus] = []
        var failure: CommandFailure?
        let mounts = MountTable.current().containers
        let answers = await Self.ask(mounts.filter { MountCondition.foreign($0) == nil })
        for mount in mounts {
            if case .foreign(let owner) = MountCondition.foreign(mount) {
                CommandFailure.say(
                    "\(mount.mountpoint) belongs to \(TrustedPath.name(ofUser: owner)); only that user and root can "
                        + "query its daemon"
                )
                continue
            }
            switch answers[mount] {
            case nil: continue
            case .success(let status): statuses.append(status)
            case .failure(let error):
                if case .dead = MountCondition(unanswering: mount) {
                    CommandFailure.say(
                        "the daemon of \(mount.mountpoint) has died; mount the container again, or run: "
                            + "dewpoint unmount \(mount.mountpoint)"
                    )
                    continue
                }
                failure?.report()
                failure = CommandFailure(
                    .unavailable,
                    "\(mount.mountpoint): \(error); mount the container again, or run: "
                        + "dewpoint unmount \(mount.mountpoint)")
            }
        }
        if json {
            try JSONOutput.print(statuses)
        } else if statuses.isEmpty {
            if mounts.isEmpty { print("no container is mounted") }
        } else {
            print(statuses.map(ContainerText.text).joined(separator: "\n\n"))
        }
        if let failure { throw failure }
    }

    /// How long all daemons together may take: that of another user may answer slowly on purpose.
    private static let answerLimit = Duration.seconds(10)

    /// Asks the daemons of mounts at the same time.
    private static func ask(_ mounts: [MountTable.Entry]) async -> [MountTable.Entry: Result<
        ContainerStatus, ControlError
    >] {
        let deadline = ContinuousClock.now + answerLimit
        return await withTaskGroup(of: (MountTable.Entry, Result<ContainerStatus, ControlError>).self) { group in
            for mount in mounts {
                group.addTask {
                    do throws(ControlError) {
                        let client = try await MountedPath.client(of: mount, deadline: deadline)
                        return (mount, .success(try await client.send(ContainerStatusRequest())))
                    } catch {
                        return (mount, .failure(error))
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    private func printItems() async throws {
        var found: [ReportedItem] = []
        var failure: (any Error)?
        do {
            try await CommandFailure.forEach(paths) { place in
                found.append(try await place.withClient { try await Self.report(place, $0) })
            }
        } catch {
            failure = error
        }
        if json {
            try JSONOutput.print(found)
        } else if !found.isEmpty {
            print(Self.text(found))
        }
        if let failure { throw failure }
    }

    private static func report(_ place: MountedPath, _ client: ControlClient) async throws -> ReportedItem {
        var item = ReportedItem(given: place.given, status: try await client.send(ItemStatusRequest(path: place.path)))
        if item.status.kind == .directory {
            let container = try await client.send(ContainerStatusRequest())
            if place.path.isEmpty { item.container = container }
            item.problem = container.problem
            item.totals = try await client.send(TotalsRequest(path: place.path))
        }
        return item
    }

    /// A table of the items, then the totals of directories, and of a mountpoint the status of its container.
    private static func text(_ items: [ReportedItem]) -> String {
        var blocks: [String] = []
        let rows = items.filter { $0.container == nil }
        if !rows.isEmpty { blocks.append(ItemTable.text(rows.map { ($0.given, $0.status) })) }
        for item in items {
            if let container = item.container {
                blocks.append(ContainerText.text(container))
            } else if let totals = item.totals {
                let lines =
                    [item.given.printable] + TotalsText.lines(TotalsText.rows(totals, path: item.given))
                    + [TotalsText.verdict(totals, problem: item.problem)]
                blocks.append(lines.joined(separator: "\n"))
            }
        }
        return blocks.joined(separator: "\n\n")
    }
}

/// One item of `status PATH… --json`: the fields of ``ItemStatus``, and of a directory `totals`.
private struct ReportedItem: Encodable {
    let given: String
    let status: ItemStatus
    var totals: ItemTotals?
    /// Of a mountpoint.
    var container: ContainerStatus?
    /// What stops sync of the container.
    var problem: String?

    private enum CodingKeys: String, CodingKey { case totals, container }

    init(given: String, status: ItemStatus) {
        self.given = given
        self.status = status
    }

    func encode(to encoder: any Encoder) throws {
        try status.encode(to: encoder)
        var object = encoder.container(keyedBy: CodingKeys.self)
        try object.encodeIfPresent(totals, forKey: .totals)
        try object.encodeIfPresent(container, forKey: .container)
    }
}

import ArgumentParser
import ControlAPI
import ControlClient
import Daemon
import Foundation
import Model

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Shows the sync status of items, or of all mounted containers.")

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
        for mount in mounts {
            if case .foreign(let owner) = MountCondition.foreign(mount) {
                CommandFailure.say(
                    "\(mount.mountpoint) belongs to \(TrustedPath.name(ofUser: owner)); only that user and root can "
                        + "query its daemon"
                )
                continue
            }
            do {
                statuses.append(try await MountedPath.withClient(of: mount) { try await $0.containerStatus() })
            } catch let error as ControlError {
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

    private func printItems() async throws {
        var statuses: [(given: String, status: ItemStatus)] = []
        var failure: (any Error)?
        do {
            try await CommandFailure.forEach(paths) { place in
                statuses.append((place.given, try await place.withClient { try await $0.itemStatus(place.path) }))
            }
        } catch {
            failure = error
        }
        if json {
            try JSONOutput.print(statuses.map(\.status))
        } else if !statuses.isEmpty {
            print(ItemTable.text(statuses))
        }
        if let failure { throw failure }
    }
}

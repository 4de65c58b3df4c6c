import ArgumentParser
import ControlAPI
import ControlClient
import Daemon
import Foundation
import Model

struct UpgradeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upgrade", abstract: "Has the installed version take over mounts that are in use.",
        discussion: """
            The daemon of a mount is the version that was installed when it was mounted. This has the present one take its \
            place; programs on the mount wait for a moment and notice nothing else. The mount must have the option survive: \
            others go over when they are mounted again.

            dewpoint upgrade /mnt/notes
            """)

    @Argument(
        help: "The mountpoint, or the name of a mount. (default: that of the current directory, or the only one)",
        completion: MountCompletion.mounted)
    var mountpoint: String?

    @Flag(help: "All mounts of this user that can be upgraded.")
    var all = false

    /// How long a daemon may take until it answers.
    private static let limit = Duration.seconds(60)
    private static let pollInterval = Duration.milliseconds(50)

    func validate() throws {
        if mountpoint != nil, all { throw ValidationError("give a mountpoint or --all, not both") }
    }

    func run() async throws {
        guard all else {
            return try await upgrade(
                try mountpoint.map { try NamedMountLookup.mountpoint($0) } ?? MountedPath.likeliest())
        }
        var failure: (any Error)?
        for mount in MountTable.current().containers where !MountCondition.isOfAnotherUser(mount) {
            do {
                let place = try MountedPath.mountpoint(mount.mountpoint)
                let status = try await place.send(ContainerStatusRequest())
                guard let survival = status.survival, survival.obstacle == nil else {
                    print("\(mount.mountpoint.printable): goes over when it is mounted again: it ends with its daemon")
                    continue
                }
                try await upgrade(place)
            } catch {
                // The others all the same.
                if let failed = CommandFailure(error) { CommandFailure.say("\(mount.mountpoint): \(failed.sentence)") }
                failure = failure ?? error
            }
        }
        if failure != nil { throw CommandFailure(.failed, "not all mounts were upgraded") }
    }

    private func upgrade(_ place: MountedPath) async throws {
        let before = try await place.send(ContainerStatusRequest())
        try await place.send(UpgradeRequest())
        let after = try await successor(of: before.processID, place)
        print(
            "\(after.mountpoint.printable): process \(after.processID) has taken the place of \(before.processID), with "
                + "version \(Release.version)")
    }

    private func successor(of process: Int32, _ place: MountedPath) async throws -> ContainerStatus {
        let start = ContinuousClock.now
        while ContinuousClock.now < start + Self.limit {
            do {
                let status = try await place.send(ContainerStatusRequest())
                if status.processID != process { return status }
            } catch {
                // The old one ends, or the new one begins.
                if case .dead = MountCondition(unanswering: place.mount) {
                    throw CommandFailure(
                        .failed,
                        "\(place.mount.mountpoint) has ended, as the installed program could not take it over; see its log, "
                            + "and mount it again")
                }
            }
            try await Task.sleep(for: Self.pollInterval)
        }
        throw CommandFailure(
            .busy,
            "the daemon of \(place.mount.mountpoint.printable) has not answered for \(Self.limit); see its log, and if it "
                + "has ended: dewpoint mount")
    }
}

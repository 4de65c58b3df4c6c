import ControlAPI
import ControlClient
import Daemon
import Foundation
import Model
import NamedMounts

/// Where a container may be created and mounted: not within another one, nor in its own directory.
enum MountPlaces {
    /// Refuses a mountpoint in a mounted container, in the container's own directory, or above it.
    ///
    /// - Parameters:
    ///   - mountpoint: Absolute, without symbolic links.
    ///   - directory: The container's, likewise; `nil` for one in a bucket.
    static func check(mountpoint: String, directory: String?, mounts: MountTable) throws(CommandFailure) {
        if let outer = mounts.container(of: mountpoint), !outer.path.isEmpty {
            throw CommandFailure(
                .usage,
                "\(mountpoint) is in the container that is mounted at \(outer.mount.mountpoint), and a container cannot be "
                    + "mounted in another; choose a directory outside of it")
        }
        guard let directory else { return }
        if PathRelation(mountpoint, directory) != .apart {
            throw CommandFailure(
                .usage,
                "the mountpoint \(mountpoint) and the container's own directory \(directory) lie in each other; choose "
                    + "another mountpoint, such as \(NSHomeDirectory())/\(lastName(directory))")
        }
    }

    /// Refuses to keep a container in a mounted one: its objects would be uploaded as files.
    static func check(directory: String, mounts: MountTable) throws(CommandFailure) {
        guard let outer = mounts.container(of: directory) else { return }
        throw CommandFailure(
            .usage,
            "\(directory) is in the container that is mounted at \(outer.mount.mountpoint), and a container cannot be kept "
                + "in another; choose a directory outside of it")
    }

    /// The directory of a container with a `file:` URL, absolute and without symbolic links; `nil` for a bucket.
    static func directory(of url: String) throws -> String? {
        guard let path = ContainerLocation.directory(of: url) else { return nil }
        return try MountedPath.absolute(path)
    }

    private static func lastName(_ path: String) -> String { ItemPath(path).last.map(String.init) ?? path }

    /// How long all daemons together may take to say what they serve.
    private static let answerLimit = Duration.seconds(10)

    /// Where the container whose state is in use is mounted, in a sentence; the given failure when that cannot be
    /// found.
    static func explained(_ failure: CommandFailure, url: String, state: String, mountpoint: String) async
        -> CommandFailure
    {
        guard failure.status == .busy else { return failure }
        let deadline = ContinuousClock.now + answerLimit
        for mount in MountTable.current().containers where MountCondition.foreign(mount) == nil {
            // A daemon that does not answer is not the one to name.
            guard
                let socket = try? MountedPath.socket(of: mount),
                let status = try? await ControlClient(socketPath: socket.path, deadline: deadline).send(
                    ContainerStatusRequest()),
                status.state == state
            else { continue }
            guard status.remote == url else { return sameID(url, as: status) }
            return CommandFailure(.busy, alreadyMounted(url, at: mount.mountpoint, asked: mountpoint))
        }
        return failure
    }

    private static func sameID(_ url: String, as other: ContainerStatus) -> CommandFailure {
        CommandFailure(
            .usage,
            "\(url) has the same id as the container \(other.remote), \(other.container), which is mounted at "
                + "\(other.mountpoint); give this one its own --state DIR, or another id when you create it")
    }

    static func alreadyMounted(_ url: String, at place: String, asked mountpoint: String) -> String {
        place.isBytewiseEqual(to: mountpoint)
            ? "\(url) is already mounted at \(place); nothing is left to do: see dewpoint status \(place)"
            : "\(url) is already mounted at \(place); to mount it at \(mountpoint) instead, first run: dewpoint unmount "
                + place
    }
}

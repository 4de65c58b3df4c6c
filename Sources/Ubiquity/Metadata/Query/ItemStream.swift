import ControlClient
import Model

/// Starts to follow the items of a mounted container: the seam between queries and daemons, which tests replace.
struct ItemStream: Sendable {
    /// Arguments: the mountpoint, a path below its root, what to call for each update, and what to call at the end,
    /// which is not called after the returned function.
    let start:
        @Sendable (
            String, String, @escaping @Sendable (ItemUpdate) -> Void, @escaping @Sendable (ControlError) -> Void
        ) -> @Sendable () -> Void

    /// The stream of the daemon that serves the mount.
    static let daemon = ItemStream { mountpoint, path, onUpdate, onEnd in
        let container = MountedContainer.containing(URL(fileURLWithPath: mountpoint))?.container
        guard let container, container.mountpoint.isBytewiseEqual(to: mountpoint), let socketPath = container.socketPath
        else {
            onEnd(.daemonUnreachable("there is no control socket for \(mountpoint)"))
            return {}
        }
        let follower = ItemFollower.start(socketPath: socketPath, path: path, onUpdate: onUpdate, onEnd: onEnd)
        return { follower.stop() }
    }
}

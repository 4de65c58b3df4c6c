import ControlAPI
import Glibc
import Model

/// A container that is mounted on this machine.
struct MountedContainer: Hashable, Sendable {
    /// Without symbolic links and a trailing slash.
    var mountpoint: String { place.string }
    private let place: ItemPath
    /// The user whose daemon serves it.
    let owner: UInt32?

    private init(_ entry: MountTable.Entry) {
        place = ItemPath(entry.mountpoint)
        owner = entry.owner
    }

    /// An absolute path of it.
    ///
    /// - Parameter relative: Below the root, without a leading slash; empty for the root.
    func path(_ relative: String) -> String { relative.isEmpty ? mountpoint : "\(mountpoint)/\(relative)" }

    /// The socket of its daemon; `nil` when the daemon is dead, or belongs to a user whose socket may not be used.
    var socketPath: String? {
        ControlSocket.find(
            mountpoint: mountpoint, environment: ProcessInfo.processInfo.environment, owner: owner ?? geteuid())?.path
    }

    /// The environment variable that limits a program to some of the mounted containers: their mountpoints, separated
    /// by colons, in order of preference.
    static let mountpointsVariable = "UBIQUITY_MOUNTPOINTS"

    /// The containers that this program may use, in order of preference.
    static func all() -> [MountedContainer] {
        let mounts = CurrentMounts.table
        let containers = mounts.containers.map(MountedContainer.init)
        guard let chosen = ProcessInfo.processInfo.environment[mountpointsVariable] else { return containers }
        let resolver = PathResolver(mounts: mounts)
        return chosen.splitBytes(at: UInt8(ascii: ":")).compactMap { place in
            let path = resolver.resolve(String(place), from: PathResolver.currentDirectory())
            return path.flatMap { path in containers.first { $0.mountpoint.isBytewiseEqual(to: path) } }
        }
    }

    /// Finds the container that contains a file, without accessing the file.
    ///
    /// Symbolic links are followed up to the mountpoint.
    /// - Returns: The container and the path below its root, without a leading slash; `nil` for files elsewhere.
    static func containing(_ url: URL) -> (container: MountedContainer, path: String)? {
        guard url.isFileURL else { return nil }
        let mounts = CurrentMounts.table
        guard
            let path = PathResolver(mounts: mounts).resolve(url.path, from: PathResolver.currentDirectory()),
            let (mount, rest) = mounts.container(of: path)
        else { return nil }
        return (MountedContainer(mount), rest)
    }
}

extension MountedContainer {
    /// The URL of an item.
    ///
    /// - Parameter model: A URL of the item before it moved: whether it is that of a directory. Without it a directory
    ///   is looked up.
    func url(_ relative: String, like model: URL?) -> URL {
        let path = path(relative)
        let isDirectory = model?.hasDirectoryPath ?? FileStamp(path)?.isDirectory ?? false
        return URL(fileURLWithPath: path, isDirectory: isDirectory)
    }
}

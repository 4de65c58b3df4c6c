import ControlAPI
import Foundation
package import Model

/// What the checks of named mounts need to know about this process and machine. Nothing here accesses a mount, which
/// may hang.
package struct MountSurroundings: Sendable {
    /// What `~` stands for.
    package let home: String
    package let variables: [String: String]
    private let table: MountTable

    package init(variables: [String: String], home: String, table: MountTable) {
        self.variables = variables
        self.home = home
        self.table = table
    }

    /// Those of this process, as they are now.
    package static func current() -> MountSurroundings {
        let variables = ProcessInfo.processInfo.environment
        // The environment before the password database, as in every shell. Services of the system may have no HOME.
        return MountSurroundings(
            variables: variables,
            home: variables["HOME"].flatMap { ItemPath($0).isAbsolute ? $0 : nil } ?? NSHomeDirectory(),
            table: .current())
    }

    /// A path of the mounts file, absolute and without symbolic links, as the kernel lists mounts.
    ///
    /// - Returns: `nil` for a relative path, for `~USER`, and for a loop of links.
    func place(_ path: String) -> String? {
        guard let absolute = NamedMount.absolute(path, home: home) else { return nil }
        return PathResolver(mounts: table).resolve(absolute, from: "/")
    }

    /// A path of the mounts file, absolute, with its links.
    package func absolute(_ path: String) -> String { NamedMount.absolute(path, home: home) ?? path }

    /// Where a mount is mounted: ``place(_:)`` of its mountpoint.
    package func mountpoint(of mount: NamedMount) -> String { place(mount.mountpoint) ?? mount.mountpoint }

    /// The state directory that a mount gives.
    package func state(of mount: NamedMount) -> String? { mount.state.map { place($0) ?? $0 } }

    /// Whether a container is mounted at a mount's mountpoint.
    package func isMounted(_ mount: NamedMount) -> Bool {
        table.mount(at: mountpoint(of: mount))?.type == MountTable.type
    }

    /// Whether the kernel refuses changes at a mount's mountpoint.
    package func isReadOnly(_ mount: NamedMount) -> Bool {
        table.mount(at: mountpoint(of: mount))?.isReadOnly ?? false
    }

    /// The mounted container around a place, if it is not mounted exactly there.
    func container(around place: String) -> String? {
        guard let found = table.container(of: place), !found.path.isEmpty else { return nil }
        return found.mount.mountpoint
    }
}

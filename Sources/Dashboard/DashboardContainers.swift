package import ControlAPI
import Foundation
package import Model

/// The containers that the dashboard shows: those that this user has mounted, whatever their daemons do.
package struct DashboardContainers: Sendable {
    package struct Container: Hashable, Sendable, Codable {
        /// Names it in requests: ``ControlSocket/identifier(of:)``.
        package var id: String
        package var mountpoint: String
    }

    private let table: @Sendable () -> MountTable
    private let environment: [String: String]
    private let user: UInt32

    package init(
        table: @escaping @Sendable () -> MountTable = { MountTable.current() },
        environment: [String: String] = ProcessInfo.processInfo.environment, user: UInt32 = geteuid()
    ) {
        self.table = table
        self.environment = environment
        self.user = user
    }

    private var mounts: [MountTable.Entry] { table().containers.filter { ($0.owner ?? user) == user } }

    package var all: [Container] {
        mounts.map { Container(id: ControlSocket.identifier(of: $0.mountpoint), mountpoint: $0.mountpoint) }
    }

    /// The socket of a container's daemon.
    ///
    /// - Throws: ``FileError`` with `notFound` for one that is not mounted, `unreachable` without a daemon.
    package func socket(of id: some StringProtocol) throws(FileError) -> ControlSocket {
        guard let mount = mounts.first(where: { ControlSocket.identifier(of: $0.mountpoint) == id }) else {
            throw FileError(.notFound, "the container is no longer mounted")
        }
        guard let socket = ControlSocket.find(mountpoint: mount.mountpoint, environment: environment, owner: user)
        else {
            throw FileError(.unreachable, "the daemon of \(mount.mountpoint) has died; mount the container again")
        }
        return socket
    }
}

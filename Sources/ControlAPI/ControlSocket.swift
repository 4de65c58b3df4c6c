import Model

/// The path of a daemon's socket: a client derives it from the mountpoint alone.
///
///     DIRECTORY/HASH.sock     HASH: 64 bits of FNV-1a over the canonical mountpoint, 16 hex digits
///
/// `DIRECTORY` is `$XDG_RUNTIME_DIR/dewpoint`; without that variable `/run/dewpoint` for root and `/tmp/dewpoint-UID`
/// for all other users, or `~/.local/state/dewpoint/sockets` where another user took that name. It belongs to its user and has mode 0700, the socket 0600: the kernel lets only that user and
/// root connect.
package struct ControlSocket: Hashable, Sendable {
    package let directory: String
    package let path: String

    /// Where a daemon makes its socket, before it is given the name at which clients look: they find the one of the daemon
    /// before it until then, and never none. It is no longer than that name.
    package var unfinished: String { "\(path.dropLast(Self.ending.count)).new" }

    private static let ending = ".sock"

    /// The longest path of a socket in bytes: the daemon's server, SwiftNIO, takes no longer one, although Linux has 107.
    package static let pathByteLimit = 103

    static let directoryInHome = "/.local/state/dewpoint/sockets"

    private init(directory: String, mountpoint: String) {
        self.directory = directory
        path = "\(directory)/\(Self.name(of: mountpoint))"
    }

    /// The paths at which a daemon of `user` tries to create the socket of a mountpoint, best first.
    ///
    /// - Parameter home: The home directory of `user` in the password database: with it, clients of all users and
    ///   sessions find the same place.
    package static func places(
        mountpoint: String, environment: [String: String], user: UInt32, home: (UInt32) -> String? = home(of:)
    ) -> [ControlSocket] {
        var directories: [String] = []
        if let runtime = environment["XDG_RUNTIME_DIR"], ItemPath(runtime).isAbsolute {
            directories.append("\(runtime)/dewpoint")
        }
        directories.append(user == 0 ? "/run/dewpoint" : "/tmp/dewpoint-\(user)")
        // Anyone may take a name in /tmp.
        if user != 0, let home = home(user), ItemPath(home).isAbsolute {
            directories.append(home + directoryInHome)
        }
        return directories.map { ControlSocket(directory: $0, mountpoint: mountpoint) }
            .filter { $0.path.utf8.count <= pathByteLimit }
    }

    /// The paths at which a client looks for the socket of a mount made by `user`, likeliest first: the daemon may have
    /// been started with another environment, such as that of another session.
    package static func candidates(
        mountpoint: String, environment: [String: String], user: UInt32, home: (UInt32) -> String? = home(of:)
    ) -> [ControlSocket] {
        let places = places(mountpoint: mountpoint, environment: environment, user: user, home: home)
        let session = ControlSocket(directory: "/run/user/\(user)/dewpoint", mountpoint: mountpoint)
        return places.contains(session) ? places : places + [session]
    }

    private static func name(of mountpoint: String) -> String { identifier(of: mountpoint) + ending }

    /// The part of the socket's name that stands for the mountpoint: 16 hex digits.
    package static func identifier(of mountpoint: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in mountpoint.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

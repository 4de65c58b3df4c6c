import Foundation
import Glibc
import Linux
package import Model

extension ControlSocket {
    /// Chooses the path of a daemon's socket and creates its directory.
    ///
    /// - Throws: ``FileError`` when no directory can be used, for the last one tried.
    package static func prepare(mountpoint: String, environment: [String: String]) throws(FileError) -> ControlSocket {
        var refusal = FileError(.invalid, "there is no place for the control socket; set XDG_RUNTIME_DIR")
        for socket in places(mountpoint: mountpoint, environment: environment, user: geteuid()) {
            do {
                try socket.prepareDirectory()
                return socket
            } catch {
                // A variable inherited through `su` names another user's directory: try the next place.
                refusal = error
            }
        }
        throw refusal
    }

    /// Creates the directory, or checks an existing one: in `/tmp` another user may have created it first.
    func prepareDirectory() throws(FileError) {
        makeDirectoriesAbove()
        try SystemCalls.makeDirectory(
            ifMissing: directory, as: "cannot create the directory \(directory) for the control socket")
        guard isTrusted(user: geteuid()) else {
            throw FileError(
                .notPermitted,
                "\(directory) must be a directory that you own, with mode 0700; remove it or set XDG_RUNTIME_DIR")
        }
    }

    /// Creates what is missing above the directory, below the home directory; elsewhere it exists already. What fails
    /// here fails again for the directory itself.
    private func makeDirectoriesAbove() {
        guard directory.hasByteSuffix(Self.directoryInHome) else { return }
        let above = URL(fileURLWithPath: directory).deletingLastPathComponent()
        try? FileManager.default.createDirectory(
            at: above, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// The home directory of a user in the password database; `nil` for users who are not in it.
    package static func home(of user: UInt32) -> String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: passwordByteLimit)
        guard getpwuid_r(user, &entry, &buffer, buffer.count, &found) == 0, found != nil, let home = entry.pw_dir else {
            return nil
        }
        return String(cString: home)
    }

    /// The longest entry of the password database: 16 KiB.
    private static let passwordByteLimit = 16 << 10

    /// Whether a daemon listens at the socket.
    package func answers() -> Bool {
        guard let listener = try? Self.connect(path: path) else { return false }
        close(listener.descriptor)
        return true
    }

    /// The other end of a connection.
    package struct Listener: Sendable {
        /// To be closed by the caller; child processes do not inherit it.
        package var descriptor: Int32
        /// The user that listens, as the kernel recorded it.
        package var user: UInt32
    }

    /// How long a listener may take to accept a connection.
    package static let connectLimit = Duration.seconds(5)

    /// Connects to the listener at a path.
    ///
    /// The listener must be of the user to whom the socket's directory belongs: that user may have put a symbolic link
    /// to another's socket there, or let the directory be one. Root's requests would reach root's own daemon.
    /// - Parameter limit: Waits only while the listener's queue of connections is full.
    /// - Throws: ``FileError/Code/notFound`` and similar errors; ``FileError/Code/invalid`` for a path too long for a
    ///   socket; ``FileError/Code/notPermitted`` for a listener of another user.
    package static func connect(path: String, limit: Duration = connectLimit) throws(FileError) -> Listener {
        guard path.utf8.count <= pathByteLimit else {
            throw FileError(.invalid, "\(path) is too long for the path of a socket")
        }
        let descriptor = try SystemCalls.check("socket") {
            socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        }
        do throws(FileError) {
            try connect(descriptor, path, limit)
            return Listener(descriptor: descriptor, user: try user(listeningTo: descriptor, path))
        } catch {
            close(descriptor)
            throw error
        }
    }

    private static func connect(_ descriptor: Int32, _ path: String, _ limit: Duration) throws(FileError) {
        let (seconds, attoseconds) = limit.components
        // A limit of zero would be none.
        var limit = timeval(tv_sec: Int(seconds), tv_usec: max(1, Int(attoseconds / 1_000_000_000_000)))
        // Without it the wait has no limit; it cannot fail for a socket.
        _ = setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        // struct sockaddr_un: two bytes of family, then the path and a zero.
        var address = withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) } + Array(path.utf8) + [0]
        let byteCount = socklen_t(address.count)
        try SystemCalls.check("connect", path) {
            address.withUnsafeMutableBytes { bytes in
                bytes.withMemoryRebound(to: sockaddr.self) { Glibc.connect(descriptor, $0.baseAddress!, byteCount) }
            }
        }
    }

    /// - Returns: The user that called listen(2). Related: `SO_PEERCRED` in unix(7).
    private static func user(listeningTo descriptor: Int32, _ path: String) throws(FileError) -> UInt32 {
        // struct ucred
        var peer: (process: Int32, user: UInt32, group: UInt32) = (0, 0, 0)
        var byteCount = socklen_t(MemoryLayout.size(ofValue: peer))
        try SystemCalls.check("getsockopt", as: "SO_PEERCRED") {
            getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &byteCount)
        }
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.utf8.startIndex
        let directory = String(decoding: path.utf8.prefix(upTo: slash), as: UTF8.self)
        var found = stat()
        try SystemCalls.check("lstat", as: "lstat \(directory)") {
            lstat(directory.isEmpty ? "." : directory, &found)
        }
        guard found.st_mode & S_IFMT == S_IFDIR, found.st_uid == peer.user else {
            throw FileError(
                .notPermitted, "\(path) is in a directory of user \(found.st_uid), but user \(peer.user) listens there")
        }
        return peer.user
    }

    /// Finds the socket of a mount, at the first place where its owner could have created it.
    ///
    /// - Returns: `nil` when there is none: the daemon is dead, or belongs to another user.
    package static func find(mountpoint: String, environment: [String: String], owner: UInt32) -> ControlSocket? {
        candidates(mountpoint: mountpoint, environment: environment, user: owner).first { socket in
            socket.isTrusted(user: owner) && access(socket.path, F_OK) == 0
        }
    }

    /// Whether only `user` can have created a socket there: another user's socket would receive our users' requests.
    private func isTrusted(user: UInt32) -> Bool {
        // The entry itself: a symbolic link is not followed. An unreadable entry is not trusted.
        guard let found = try? FileManager.default.attributesOfItem(atPath: directory) else { return false }
        let mode = found[.posixPermissions] as? Int ?? 0o777
        return found[.type] as? FileAttributeType == .typeDirectory && found[.ownerAccountID] as? Int == Int(user)
            && mode & 0o077 == 0
    }
}

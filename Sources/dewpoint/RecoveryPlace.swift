import ArgumentParser
import Daemon
import Foundation
import Glibc
import Model

/// Where a state is recovered: a directory in the state of the mount that it is recovered into, which has room for it, and
/// where no other command looks for states.
///
///     STATE/recovering.PID/state       the new state
///     STATE/recovering.PID/mount       where it is mounted meanwhile
struct RecoveryPlace {
    private let path: String
    private static let prefix = "recovering."

    var state: StatePlace { StatePlace(path: "\(path)/state") }
    var mountpoint: String { "\(path)/mount" }

    /// - Parameter state: The state of the mount.
    init(in state: String) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: state) where name.hasBytePrefix(Self.prefix) {
            // One whose command was killed.
            let number = Int32(String(decoding: name.utf8.dropFirst(Self.prefix.utf8.count), as: UTF8.self))
            guard let number, number == getpid() || (kill(number, 0) != 0 && errno == ESRCH) else { continue }
            Self(path: "\(state)/\(name)").abandon()
        }
        path = "\(state)/\(Self.prefix)\(getpid())"
        for directory in [path, mountpoint] where mkdir(directory, 0o700) != 0 {
            throw CommandFailure(
                .cannotCreate, "\(directory) cannot be created: \(String(cString: strerror(errno)))")
        }
    }

    private init(path: String) { self.path = path }

    /// Unmounts what is mounted, and waits for its daemon to exit.
    func unmount() async throws {
        let command = try UnmountCommand.parse(["--lazy", mountpoint])
        try await command.run()
    }

    /// Removes what was left by a command that was killed, unless it is still mounted.
    private func abandon() {
        if MountTable.current().entries.contains(where: { $0.mountpoint.isBytewiseEqual(to: mountpoint) }) { return }
        remove()
    }

    /// Never removes anything while something is mounted: `rmdir` fails then.
    func remove() {
        guard rmdir(mountpoint) == 0 || errno == ENOENT else {
            CommandFailure.say("\(mountpoint) is still mounted; unmount it, and remove \(path)")
            return
        }
        do { try StatePlace(path: path).remove() } catch { CommandFailure.say("\(error)") }
    }
}

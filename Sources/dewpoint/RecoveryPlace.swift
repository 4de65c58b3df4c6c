import ArgumentParser
import Daemon
import Foundation
import Glibc
import Linux
import Model

/// Where a state is recovered: a directory in the state of the mount that it is recovered into, which has room for it, and
/// where no other command looks for states.
///
///     STATE/recovering.PID             locked by flock(2) while the command runs
///     STATE/recovering.PID/state       the new state
///     STATE/recovering.PID/mount       where it is mounted meanwhile
struct RecoveryPlace {
    private let path: String
    /// Of the directory.
    private let lock: Descriptor
    private static let prefix = "recovering."

    var state: StateDirectory { StateDirectory(path: "\(path)/state") }
    var mountpoint: String { "\(path)/mount" }

    /// - Parameter state: The state of the mount.
    init(in state: String) throws {
        let path = "\(state)/\(Self.prefix)\(getpid())"
        guard mkdir(path, 0o700) == 0, let place = Self(locking: path), mkdir(place.mountpoint, 0o700) == 0 else {
            throw CommandFailure(.cannotCreate, "\(path) cannot be created: \(String(cString: strerror(errno)))")
        }
        self = place
    }

    /// - Returns: `nil` while the command that made it runs.
    private init?(locking path: String) {
        guard let directory = try? Descriptor(path, O_RDONLY | O_DIRECTORY), (try? directory.lock()) == true else {
            return nil
        }
        self.path = path
        lock = directory
    }

    /// How long a daemon may take to mount that was started by a command that was killed, and to end.
    private static let daemonLimit = Duration.seconds(20)
    private static let pollInterval = Duration.milliseconds(50)

    /// Removes what commands that were killed have left in the state of a mount.
    static func clear(_ state: String) async throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: state) where name.hasBytePrefix(prefix) {
            guard let place = Self(locking: "\(state)/\(name)") else { continue }
            try await place.wait { !place.state.isInUse || place.isMounted }
            if place.isMounted { try await place.unmount() }
            // One that did not answer yet was not waited for, and writes its last words into the state.
            try await place.wait { !place.state.isInUse }
            place.remove()
        }
    }

    private func wait(until condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + Self.daemonLimit
        while !condition(), ContinuousClock.now < deadline { try await Task.sleep(for: Self.pollInterval) }
    }

    private var isMounted: Bool {
        MountTable.current().entries.contains { $0.mountpoint.isBytewiseEqual(to: mountpoint) }
    }

    /// Unmounts what is mounted, and waits for its daemon to exit.
    func unmount() async throws {
        let command = try UnmountCommand.parse(["--lazy", mountpoint])
        try await command.run()
    }

    /// Never removes anything while something is mounted: `rmdir` fails then.
    func remove() {
        guard rmdir(mountpoint) == 0 || errno == ENOENT else {
            CommandFailure.say("\(mountpoint) is still mounted; unmount it, and remove \(path)")
            return
        }
        do { try StateDirectory(path: path).remove() } catch { CommandFailure.say("\(error)") }
    }
}

import Foundation
import Glibc
import NamedMounts

/// The systemd unit that mounts a named mount at login; of root, when the machine starts.
struct SystemdUnit {
    private let name: MountName
    /// Whether the unit belongs to the system's manager, and not to that of a user's session.
    private let isOfSystem = geteuid() == 0

    /// How long systemctl may take.
    private static let secondsLimit = 10

    init(_ name: MountName) { self.name = name }

    private var unit: String { "dewpoint@\(name).service" }
    private var manager: [String] { isOfSystem ? ["systemctl"] : ["systemctl", "--user"] }

    /// Lets systemd start the mount from now on.
    ///
    /// - Returns: What was done, or what the user can do instead.
    func enable() async -> String {
        let command = (manager + ["enable", unit]).joined(separator: " ")
        let otherwise = "autostart: put this into what runs at your login: dewpoint mount --all"
        guard await succeeds("show", "--property=Version") else {
            return "\(otherwise)\n(systemd does not answer here; where it does: \(command))"
        }
        guard await succeeds("cat", "dewpoint@.service") else {
            return "\(otherwise)\n(the unit dewpoint@.service is not installed; with it: \(command))"
        }
        guard await succeeds("enable", unit) else {
            return "autostart: systemd has refused to enable the unit; see: \(command)"
        }
        return "autostart: \(unit) is enabled; start it now with: \((manager + ["start", unit]).joined(separator: " "))"
    }

    /// Does nothing if the unit is not enabled.
    func disable() async {
        if await succeeds("is-enabled", unit), await !succeeds("disable", unit) {
            CommandFailure.say(
                "systemd still starts \(unit); see: \((manager + ["disable", unit]).joined(separator: " "))")
        }
    }

    private func succeeds(_ arguments: String...) async -> Bool {
        // The shell redirects the output, which is for scripts and not for people.
        let command =
            ["sh", "-c", "exec timeout \(Self.secondsLimit) \"$@\" >/dev/null 2>&1 </dev/null", "sh"] + manager
            + arguments
        guard let child = try? ChildProcess(command, environment: [:], inheritance: Inheritance()) else { return false }
        return await child.status() == 0
    }
}

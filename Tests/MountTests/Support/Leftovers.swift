import Foundation

/// The directories, mounts and daemons that a test may leave behind, and their removal.
enum Leftovers {
    /// With symbolic links resolved, as the kernel lists mountpoints.
    private static let root =
        URL(fileURLWithPath: NSTemporaryDirectory()).resolvingSymlinksInPath().path + "/dewpoint-mounts"

    /// Creates a directory whose name contains the id of this process.
    static func newDirectory() throws -> String {
        let path = "\(root)/\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        try FileManager.default.createDirectory(atPath: path + "/run", withIntermediateDirectories: true)
        return path
    }

    /// Removes the leftovers of test processes that have ended; done once.
    static var sweep: Void {
        get async { await sweeping.value }
    }

    private static let sweeping = Task {
        // Without the directory there is nothing to remove.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? [] {
            guard let pid = name.split(separator: "-").first.flatMap({ pid_t($0) }), kill(pid, 0) != 0 else { continue }
            await remove(root + "/" + name)
        }
    }

    /// The mountpoints below a directory, innermost first, from the kernel's list: a dead mount itself cannot be
    /// queried.
    static func mountpoints(below directory: String) -> [String] {
        let table = (try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)) ?? ""
        return table.split(separator: "\n").map { String($0.split(separator: " ")[4]) }
            .filter { $0.hasPrefix(directory + "/") }.reversed()
    }

    /// Unmounts everything below a directory, kills the daemons that use it, and removes it.
    static func remove(_ directory: String) async {
        for point in mountpoints(below: directory) {
            // Forcing aborts the FUSE connection: every program that hangs in it gets an error. Only root can do that;
            // for other users, killing the daemon has the same effect.
            _ = try? await Command.run(
                Requirement.root ? ["umount", "--force", "--lazy", point] : ["fusermount3", "-u", "-z", point])
        }
        for pid in supervisors(mentioning: directory) + daemons(mentioning: directory) { kill(pid, SIGKILL) }
        // Whatever is left is removed by the next run.
        _ = try? await Command.run(["rm", "-rf", "--one-file-system", directory], limit: .seconds(120))
    }

    /// Kills the daemons that use a directory, and waits until they are gone.
    static func end(mentioning path: String) async {
        for pid in supervisors(mentioning: path) + daemons(mentioning: path) { kill(pid, SIGKILL) }
        let deadline = ContinuousClock.now + .seconds(10)
        while !daemons(mentioning: path).isEmpty, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    /// The programs that have a file or a directory of a mount open, each with the path. The mount itself is not
    /// accessed.
    static func programs(using point: String) -> [String] {
        names(in: "/proc").filter { pid_t($0) != nil }.flatMap { pid in
            (["cwd", "root"] + names(in: "/proc/\(pid)/fd").map { "fd/" + $0 }).compactMap { link in
                program(pid, using: point, as: link)
            }
        }
    }

    private static func program(_ pid: String, using point: String, as link: String) -> String? {
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/\(link)")
        guard let path, path == point || path.hasPrefix(point + "/") else { return nil }
        let name = (try? String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8)) ?? "?"
        return "\(name.trimmingCharacters(in: .newlines)) (\(pid), \(link)): \(path)"
    }

    private static func names(in directory: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    }

    /// The daemons with an argument that is `path` or below it.
    static func daemons(mentioning path: String) -> [pid_t] { programs("dewpoint", mentioning: path) }

    /// What starts daemons anew that are killed.
    private static func supervisors(mentioning path: String) -> [pid_t] {
        programs("dewpoint-supervisor", mentioning: path)
    }

    private static func programs(_ name: String, mentioning path: String) -> [pid_t] {
        processes(mentioning: path).filter { pid in
            let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")
            return program?.hasSuffix("/\(name)") == true
        }
    }

    /// The processes with an argument that is `path` or below it.
    static func processes(mentioning path: String) -> [pid_t] {
        names(in: "/proc").compactMap { pid_t($0) }.filter { pid in
            guard let line = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") else { return false }
            return line.split(separator: 0).contains {
                let argument = String(decoding: $0, as: UTF8.self)
                return argument == path || argument.hasPrefix(path + "/")
            }
        }
    }

    /// The test directory, created by ``newDirectory()``, that contains a path.
    static func directory(of path: String) -> String? {
        guard path.hasPrefix(root + "/"), let name = path.dropFirst(root.count + 1).split(separator: "/").first else {
            return nil
        }
        return root + "/" + name
    }
}

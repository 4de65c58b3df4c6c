import ControlAPI
import ControlClient
import Daemon
import Foundation
import Glibc
import Linux
import Model

/// The parts of an archive for developers. A part that cannot be had has the reason instead.
struct Diagnosis {
    enum Subject {
        case mount(MountedPath)
        /// The state of a container that is not mounted.
        case state(StateDirectory)
    }

    struct File {
        var name: String
        var text: String
    }

    private let subject: Subject
    private var redaction: Redaction
    private(set) var files: [File] = []

    /// How much of the end of a log is taken: 1 MiB.
    private static let logByteCount = 1 << 20
    /// How long the check of the index may take.
    private static let checkLimit = Duration.seconds(60)

    init(_ subject: Subject, redaction: Redaction) {
        self.subject = subject
        self.redaction = redaction
    }

    mutating func collect() async throws {
        add("version.txt", "dewpoint \(Release.version)\n")
        add("system.txt", redaction.machine(System.text()))
        switch subject {
        case .state(let place): addLog(of: place.path)
        case .mount(let place):
            add("options.txt", redaction.withoutKeys(Self.options(of: place.mount)))
            try await ask(place)
        }
        add("README.txt", Self.readme(keepsNames: redaction.keepsNames))
    }

    private mutating func add(_ name: String, _ text: String) { files.append(File(name: name, text: text)) }

    private mutating func ask(_ place: MountedPath) async throws {
        do {
            let status = try await place.send(ContainerStatusRequest())
            add("status.json", try redaction.json(status))
            add("locks.json", try redaction.json(try await place.send(LocksRequest())))
            add("metrics.txt", try await place.withClient { try await $0.metrics() })
            add("system-state.txt", redaction.machine(System.disk(of: status.state)))
            addLog(of: status.state)
            let problems = try await Self.check(place)
            add("check.txt", problems.isEmpty ? "no problems\n" : redaction.sentence(problems.joined(separator: "\n")))
        } catch let error as ControlError {
            add("daemon.txt", redaction.sentence("the daemon does not answer: \(error)\n"))
        }
    }

    /// What the check of the index finds, or that it took too long: it asks the store too.
    private static func check(_ place: MountedPath) async throws -> [String] {
        try await withThrowingTaskGroup(of: [String].self) { group in
            defer { group.cancelAll() }
            group.addTask {
                do {
                    return try await place.send(CheckRequest()).problems
                } catch let error as ControlError {
                    return ["the check failed: \(error)"]
                }
            }
            group.addTask {
                try await Task.sleep(for: checkLimit)
                return ["the check took more than \(checkLimit)"]
            }
            return try await group.next() ?? []
        }
    }

    private mutating func addLog(of state: String) {
        guard let file = FileHandle(forReadingAtPath: "\(state)/daemon.log") else {
            return add("log.txt", "there is no daemon.log in the state directory\n")
        }
        // An unreadable end gives an empty log.
        let end = (try? file.seekToEnd()) ?? 0
        try? file.seek(toOffset: end > UInt64(Self.logByteCount) ? end - UInt64(Self.logByteCount) : 0)
        let bytes = (try? file.readToEnd()) ?? Data()
        add("log.txt", redaction.sentence(String(decoding: bytes, as: UTF8.self)))
    }

    /// The kernel's options of the mount.
    private static func options(of mount: MountTable.Entry) -> String {
        let table = (try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)) ?? ""
        let line = table.split(separator: "\n").first { $0.contains(" \(mount.device) ") } ?? ""
        let fields = line.split(separator: " ")
        guard fields.count > 6 else { return "unknown\n" }
        return "\(fields[5]) \(fields[fields.count - 1])\n"
    }

    private static func readme(keepsNames: Bool) -> String {
        """
        What dewpoint diagnose collected:

        version.txt       the version of Dewpoint
        system.txt        the kernel, the distribution, FUSE, memory
        system-state.txt  the disk of the state directory
        options.txt       the kernel's options of the mount
        status.json       dewpoint status --json
        locks.json        dewpoint locks --json
        metrics.txt       GET /metrics
        check.txt         dewpoint check
        log.txt           the end of the daemon's log, at most 1 MiB

        Keys are removed. Names of files and devices \(keepsNames ? "are kept" : "are replaced by pseudonyms").

        """
    }

    // MARK: Writing

    /// - Throws: ``CommandFailure`` when it cannot be written.
    func write(to archive: DiagnosisArchive) async throws {
        var template = Array("/tmp/dewpoint-diagnosis-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw CommandFailure(
                .cannotCreate, "no directory can be created in /tmp: \(String(cString: strerror(errno)))")
        }
        let parent = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let cleanup = SignalCleanup { try? FileManager.default.removeItem(atPath: parent) }
        defer {
            cleanup.end()
            // What remains of a failed attempt is in /tmp.
            try? FileManager.default.removeItem(atPath: parent)
        }
        let folder = parent + "/dewpoint-diagnosis"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for file in files {
            try file.text.write(toFile: "\(folder)/\(file.name)", atomically: false, encoding: .utf8)
        }
        umask(0o077)
        // In the directory that nobody else may enter.
        let packed = parent + "/archive.tar.gz"
        let tar = try ChildProcess(
            ["tar", "-C", parent, "-czf", packed, "dewpoint-diagnosis"], environment: [:], inheritance: Inheritance())
        guard await tar.status() == 0 else {
            throw CommandFailure(.cannotCreate, "tar failed to pack the archive in /tmp; make room there")
        }
        try archive.write(try Data(contentsOf: URL(fileURLWithPath: packed)))
    }
}

extension Redaction {
    /// A text about the machine, in which only the name of the host is one.
    mutating func machine(_ text: String) -> String {
        let text = withoutKeys(text)
        guard !keepsNames else { return text }
        let host = MountPlan.hostName()
        return text.replacing(host, with: pseudonym(host))
    }
}

/// Facts of this machine.
private enum System {
    static func text() -> String {
        ["/proc/version", "/etc/os-release", "/proc/meminfo", "/proc/loadavg"].map { path in
            let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? "cannot be read\n"
            return "\(path):\n" + text.split(separator: "\n").prefix(10).joined(separator: "\n") + "\n"
        }.joined(separator: "\n") + "\nfuse: \(fuse())\n"
    }

    private static func fuse() -> String {
        let program = ["/usr/bin/fusermount3", "/bin/fusermount3"].first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
        let device = access("/dev/fuse", R_OK | W_OK) == 0 ? "usable" : String(cString: strerror(errno))
        return "/dev/fuse \(device), fusermount3 \(program ?? "missing")"
    }

    /// Space and kind of a directory's disk.
    static func disk(of path: String) -> String {
        var space = statvfs()
        guard statvfs(path, &space) == 0 else {
            return "the state directory cannot be examined: \(String(cString: strerror(errno)))\n"
        }
        let block = UInt64(space.f_frsize)
        let kind = MountTable.current().entries.filter { ItemPath(path).relative(to: ItemPath($0.mountpoint)) != nil }
            .max { $0.mountpoint.utf8.count < $1.mountpoint.utf8.count }?.type
        return """
            file system: \(kind ?? "unknown")
            bytes: \(UInt64(space.f_blocks) * block)
            available bytes: \(UInt64(space.f_bavail) * block)
            available inodes: \(space.f_favail)

            """
    }
}

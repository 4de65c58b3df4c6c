import Foundation
import Testing

/// What a test requires of this machine; a test whose requirements are not met is skipped with a reason.
enum Requirement {
    static let fuse = FileManager.default.fileExists(atPath: "/dev/fuse")

    static let root = geteuid() == 0

    /// Whether loops are as long as for a release.
    static let long = ProcessInfo.processInfo.environment["DEWPOINT_LONG"] == "1"

    static func isInstalled(_ program: String) -> Bool {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let directories = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/sbin"]
        return directories.contains { FileManager.default.isExecutableFile(atPath: $0 + "/" + program) }
    }

    /// The built program: next to the test bundle, or the path in `DEWPOINT_BINARY`.
    static func builtBinary() throws -> String {
        let built = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let path = ProcessInfo.processInfo.environment["DEWPOINT_BINARY"] ?? built.path + "/dewpoint"
        guard FileManager.default.isExecutableFile(atPath: path) else { throw NoBinary(path: path) }
        return path
    }

    /// The program under test: the built one, or, with `DEWPOINT_TEST_OFF`, a script that runs it and mounts with these
    /// fast paths turned off.
    static func binary() throws -> String { try TestMode.program.get() }

    struct NoBinary: Error, CustomStringConvertible {
        let path: String
        var description: String { "there is no program \(path): build it first, or name it in DEWPOINT_BINARY" }
    }

    /// Debian's own Python, which the drivers are written for, or the first in `PATH`.
    static let python =
        FileManager.default.isExecutableFile(atPath: "/usr/bin/python3") ? "/usr/bin/python3" : "python3"

    /// Whether programs may use io_uring.
    static let ioUring = says("rings.py", "possible")

    /// Beside the program under test.
    static let supervisor =
        ProcessInfo.processInfo.environment["DEWPOINT_SUPERVISOR_PROGRAM"]
        ?? ((try? builtBinary()) ?? "") + "-supervisor"

    /// Whether the kernel sends requests again that a killed daemon had read.
    static let resending = ProcessInfo.processInfo.isOperatingSystemAtLeast(
        OperatingSystemVersion(majorVersion: 6, minorVersion: 9, patchVersion: 0))

    /// Whether networks can be made for a test.
    static let networks = root && isInstalled("ip") && says("networks.py")

    /// Whether a driver that is asked about this machine says yes.
    private static func says(_ driver: String, _ arguments: String...) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [python, Driver.path(driver)] + arguments
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    /// Whether what a file manager shows can be asked.
    static let fileManager = says("file_manager.py", "possible")

    /// Whether a page can be driven in headless Chromium.
    static let browser =
        ["chromium", "chromium-browser", "google-chrome"].contains { isInstalled($0) }
        && FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/websocket")

    /// The repository these tests were built from.
    static let sources = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL.path
}

extension Trait where Self == ConditionTrait {
    static func needs(_ program: String) -> Self {
        .enabled(if: Requirement.isInstalled(program), "\(program) is not installed")
    }

    /// For mounts that go on when their daemon is killed.
    static var needsSupervisor: Self {
        .enabled(
            if: Requirement.resending && FileManager.default.isExecutableFile(atPath: Requirement.supervisor),
            "there is no \(Requirement.supervisor), or the kernel does not send requests again, as Linux does from 6.9 on"
        )
    }

    static var needsNetworks: Self {
        .enabled(
            if: Requirement.networks, "networks cannot be made here: that takes root, iproute2 and a kernel with veth")
    }

    static func needsRoot(to act: String) -> Self { .enabled(if: Requirement.root, "only root can \(act)") }

    /// What opens encrypted containers without Dewpoint.
    static var needsCryptography: Self {
        .enabled("python3 has no cryptography") {
            try await Command.run([Requirement.python, "-c", "import cryptography"]).succeeded
        }
    }
}

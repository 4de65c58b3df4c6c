import Foundation
import Glibc
import Linux
import Model
import Testing

@testable import Daemon

@Suite struct StateDirectoryTests {
    @Test(
        arguments: [
            (1000, ["XDG_STATE_HOME": "/s", "HOME": "/h"], "/s/dewpoint"),
            (1000, ["XDG_STATE_HOME": "relative", "HOME": "/h"], "/h/.local/state/dewpoint"),
            (1000, [:], "\(NSHomeDirectory())/.local/state/dewpoint"),
            (0, ["XDG_STATE_HOME": "/s", "HOME": "/h"], "/s/dewpoint"),
            (0, ["HOME": "/h"], "/h/.local/state/dewpoint"),
            // A service of the system.
            (0, ["HOME": "/h", "STATE_DIRECTORY": "/var/lib/dewpoint"], "/var/lib/dewpoint"),
            (0, ["HOME": "/h", "STATE_DIRECTORY": "/v", "XDG_STATE_HOME": "/s"], "/s/dewpoint"),
            (0, ["HOME": "/h", "STATE_DIRECTORY": "/v/a:/v/b"], "/h/.local/state/dewpoint"),
        ] as [(UInt32, [String: String], String)])
    func `a new state is in XDG_STATE_HOME if that is absolute, else where a service has it, else at home`(
        user: UInt32, environment: [String: String], directory: String
    ) throws {
        let id = try #require(ContainerIdentifier("iCloud.com.example.Notes"))
        #expect(
            StateDirectory(container: id, environment: environment, user: user).path
                == "\(directory)/iCloud.com.example.Notes")
    }

    @Test func `a state directory is created with access for its owner only`() throws {
        let base = FileManager.default.temporaryDirectory.appending(path: "state-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: base) }
        try StateDirectory(path: "\(base)/a/b").make()
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(base)/a/b")
        #expect(attributes[.posixPermissions] as? Int == 0o700)
    }

    /// A crash between the two steps of a reset leaves the mark in a state that still has its own name.
    @Test func `a state counts as set aside under its new name only`() throws {
        let base = FileManager.default.temporaryDirectory.appending(path: "state-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: base) }
        try FileManager.default.createDirectory(atPath: "\(base)/a", withIntermediateDirectories: true)
        #expect(!StateDirectory(path: "\(base)/a").isBackup)
        try "a.backup-1".write(toFile: "\(base)/a/BACKUP", atomically: true, encoding: .utf8)
        #expect(!StateDirectory(path: "\(base)/a").isBackup)
        #expect(rename("\(base)/a", "\(base)/a.backup-1") == 0)
        #expect(StateDirectory(path: "\(base)/a.backup-1").isBackup)
    }

    /// As the command that starts it may be killed meanwhile, and the next one would take its place for unused.
    @Test func `a state is in use from the start of its daemon, before the daemon has locked it`() throws {
        let base = FileManager.default.temporaryDirectory.appending(path: "state-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: base) }
        let state = StateDirectory(path: base)
        #expect(!state.isInUse)
        try state.make()
        var log: Descriptor? = try state.openLogOfDaemon()
        // What the daemon holds after the command has ended.
        let daemon = dup(try #require(log).rawValue)
        log = nil
        #expect(state.isInUse)
        // Starting another one is refused by the state's own lock, and not by this.
        _ = try state.openLogOfDaemon()
        close(daemon)
        #expect(!state.isInUse)
    }

    @Test func `reading the location from a missing state directory throws notFound`() throws {
        let error = try #require(throws: DaemonError.self) { try StateDirectory(path: "/nonexistent").location() }
        #expect(error.kind == .notFound)
    }

    @Test func `a link or a path in a world-writable directory is refused, and nothing is created there`() throws {
        let base = FileManager.default.temporaryDirectory.appending(path: "state-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: base) }
        for name in ["open", "sticky", "own"] {
            try FileManager.default.createDirectory(atPath: "\(base)/\(name)", withIntermediateDirectories: true)
        }
        #expect(chmod("\(base)/open", 0o777) == 0 && chmod("\(base)/sticky", 0o1777) == 0)
        #expect(symlink("own", "\(base)/link") == 0)
        func refusal(_ given: String, _ resolved: String) throws -> DaemonError {
            try #require(throws: DaemonError.self) {
                try StateDirectory(given: "\(base)/\(given)", resolved: "\(base)/\(resolved)")
            }
        }
        #expect(try refusal("link", "own").kind == .denied)
        #expect(try refusal("link//", "own").kind == .denied)
        let open = try refusal("open/new", "open/new")
        #expect(open.kind == .denied && open.description.hasPrefix("\(base)/open is writable by everyone"))
        #expect(throws: DaemonError.self) { try StateDirectory(path: "\(base)/open/new").make() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(base)/open").isEmpty)
        try StateDirectory(path: "\(base)/sticky/new").make()
        try StateDirectory(given: "\(base)/link/new", resolved: "\(base)/own/new").make()
    }

    @Test func `the device name is kept until another one is given`() throws {
        let base = FileManager.default.temporaryDirectory.appending(path: "state-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: base) }
        let state = StateDirectory(path: base)
        try state.make()
        let location = try ContainerLocation(url: "file:///nowhere")
        #expect(state.deviceName == nil)
        try state.record(location)
        #expect(state.deviceName == nil)
        try state.record(location, deviceName: "desk")
        try state.record(location)
        #expect(state.deviceName == "desk")
        try state.record(try ContainerLocation(url: "file:///elsewhere"), deviceName: "sofa")
        #expect(state.deviceName == "sofa")
        #expect(try state.location().url == "file:///elsewhere")
    }
}

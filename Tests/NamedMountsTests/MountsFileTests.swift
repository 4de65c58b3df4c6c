import Daemon
import Foundation
import Testing

@testable import NamedMounts

@Suite struct MountsFileTests {
    private let scratch: ScratchDirectory
    private let file: MountsFile
    private let surroundings: MountSurroundings

    init() throws {
        scratch = try ScratchDirectory()
        surroundings = .test(variables: ["XDG_CONFIG_HOME": scratch.path])
        file = MountsFile(surroundings)
    }

    private var mode: Int? {
        (try? FileManager.default.attributesOfItem(atPath: file.path))?[.posixPermissions] as? Int
    }

    private func add(_ name: String) throws {
        let mount = try NamedMount.test(name, url: "s3://bucket/\(name)", at: "/nonexistent/\(name)")
        try file.change { document throws(DaemonError) in try document.adding(mount) }
    }

    @Test func `the file is in XDG_CONFIG_HOME, else in the home directory, and for root in etc`() {
        #expect(file.path == "\(scratch.path)/dewpoint/mounts.toml")
        #expect(MountsFile(.test(), user: 1000).path == "/nonexistent/home/.config/dewpoint/mounts.toml")
        #expect(MountsFile(.test(), user: 0).path == "/etc/dewpoint/mounts.toml")
        #expect(
            MountsFile(.test(variables: ["XDG_CONFIG_HOME": "relative"]), user: 1000).path
                == "/nonexistent/home/.config/dewpoint/mounts.toml")
    }

    @Test func `a missing file has no mounts, and is created for its owner only`() throws {
        #expect(try file.read().mounts == [])
        try add("a")
        #expect(mode == 0o600)
        chmod(file.path, 0o644)
        try add("b")
        #expect(mode == 0o600)
        #expect(try file.read().mounts.map(\.name.description) == ["a", "b"])
        #expect(try file.read().text.hasPrefix(MountsDocument.introduction))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: "\(scratch.path)/dewpoint").sorted()
                == [".mounts.lock", "mounts.toml"])
    }

    @Test func `commands at the same time lose nothing`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<16 { group.addTask { try add("n\(number)") } }
            try await group.waitForAll()
        }
        #expect(Set(try file.read().mounts.map(\.name.description)) == Set((0..<16).map { "n\($0)" }))
    }

    @Test func `a refused change leaves the file as it is`() throws {
        try add("a")
        let before = try file.text()
        #expect(throws: DaemonError.self) { try add("a") }
        #expect(try file.text() == before)
    }

    @Test func `what a killed command left behind does not matter`() throws {
        try add("a")
        try Data("[mounts".utf8).write(to: URL(filePath: "\(scratch.path)/dewpoint/.mounts.new"))
        try add("b")
        #expect(try file.read().mounts.count == 2)
    }

    @Test func `a symbolic link stays one, and its file is changed`() throws {
        try FileManager.default.createDirectory(atPath: "\(scratch.path)/dotfiles", withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: "\(scratch.path)/dewpoint", withIntermediateDirectories: true)
        #expect(symlink("../dotfiles/mounts.toml", file.path) == 0)
        try add("a")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file.path) == "../dotfiles/mounts.toml")
        #expect(
            try String(contentsOfFile: "\(scratch.path)/dotfiles/mounts.toml", encoding: .utf8).contains("[mounts.a]"))
    }

    @Test func `a file that is no text, too large, or open to everyone is refused`() throws {
        try file.createIfMissing()
        func refusal(_ bytes: Data, mode: mode_t = 0o600) throws -> String {
            try bytes.write(to: URL(filePath: file.path))
            chmod(file.path, mode)
            return try #require(throws: DaemonError.self) { try file.read() }.description
        }
        #expect(try refusal(Data([0xff])).contains("is not a text in UTF-8"))
        #expect(try refusal(Data("a\0".utf8)).contains("is not a text in UTF-8"))
        #expect(try refusal(Data(count: (1 << 20) + 1)).contains("is larger than 1 MiB"))
        #expect(try refusal(Data(), mode: 0o666).contains("chmod 600"))
        try FileManager.default.removeItem(atPath: file.path)
        try FileManager.default.createDirectory(atPath: file.path, withIntermediateDirectories: true)
        #expect(
            try #require(throws: DaemonError.self) { try file.read() }.description.hasSuffix("is not a file; remove it")
        )
    }
}

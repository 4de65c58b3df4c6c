import Foundation
import Model
import Testing

@testable import ControlAPI

@Suite struct ControlSocketTests {
    @Test func `the name of the socket is derived from the mountpoint`() throws {
        let place = try #require(
            ControlSocket.places(mountpoint: "/mnt/notes", environment: ["XDG_RUNTIME_DIR": "/run/user/7"], user: 7)
                .first)
        #expect(place.path == "/run/user/7/dewpoint/d8682f1a88a00d99.sock")
    }

    private static func home(_ user: UInt32) -> String? { user == 8 ? nil : "/home/\(user)" }

    private static let inHome = "/home/7/.local/state/dewpoint/sockets"

    private func directories(_ user: UInt32, _ environment: [String: String] = [:]) -> [String] {
        ControlSocket.places(mountpoint: "/m", environment: environment, user: user, home: Self.home).map(\.directory)
    }

    @Test func `without XDG_RUNTIME_DIR, root and other users have different socket directories`() {
        #expect(directories(0) == ["/run/dewpoint"])
        #expect(directories(7) == ["/tmp/dewpoint-7", Self.inHome])
        #expect(directories(8) == ["/tmp/dewpoint-8"])
    }

    @Test func `a path that is too long for a socket is not used`() {
        func places(_ byteCount: Int) -> [String] {
            directories(7, ["XDG_RUNTIME_DIR": "/" + String(repeating: "x", count: byteCount - 1)])
        }
        let own = "/dewpoint/0123456789abcdef.sock".utf8.count
        #expect(places(103 - own).count == 3)
        #expect(places(104 - own) == ["/tmp/dewpoint-7", Self.inHome])
    }

    @Test func `a client searches every directory in which the owner of the mount may have created the socket`() {
        let candidates = ControlSocket.candidates(
            mountpoint: "/m", environment: ["XDG_RUNTIME_DIR": "/run/user/0"], user: 7, home: Self.home)
        #expect(
            candidates.map(\.directory)
                == ["/run/user/0/dewpoint", "/tmp/dewpoint-7", Self.inHome, "/run/user/7/dewpoint"])
    }

    @Test func `a directory that other users can enter is refused`() throws {
        let base = FileManager.default.temporaryDirectory.appending(path: "control-socket-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: base.appending(path: "dewpoint"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: base) }
        let place = try #require(
            ControlSocket.places(
                mountpoint: "/m", environment: ["XDG_RUNTIME_DIR": base.path()], user: geteuid()
            ).first)
        #expect { try place.prepareDirectory() } throws: { ($0 as? FileError)?.code == .notPermitted }
        #expect(chmod(place.directory, 0o700) == 0)
        try place.prepareDirectory()
    }
}

import Daemon
import Foundation
import Model
import Testing

@Suite struct StatePlaceTests {
    @Test func `the state's place follows the environment`() throws {
        let id = try #require(ContainerIdentifier("iCloud.com.example.Notes"))
        #expect(
            StatePlace(container: id, environment: ["XDG_STATE_HOME": "/s"]).path
                == "/s/dewpoint/iCloud.com.example.Notes")
        #expect(
            StatePlace(container: id, environment: ["XDG_STATE_HOME": "relative"]).path
                == "\(NSHomeDirectory())/.local/state/dewpoint/iCloud.com.example.Notes")
    }

    @Test func `a state is made for its owner only`() throws {
        let base = FileManager.default.temporaryDirectory.appending(path: "state-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: base) }
        try StatePlace(path: "\(base)/a/b").make()
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(base)/a/b")
        #expect(attributes[.posixPermissions] as? Int == 0o700)
    }

    @Test func `a directory without a state has no container`() throws {
        let error = try #require(throws: DaemonError.self) { try StatePlace(path: "/nonexistent").location() }
        #expect(error.kind == .notFound)
    }
}

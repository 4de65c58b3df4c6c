import Foundation
import Model
import Testing

@testable import Daemon

/// A daemon notices that a command of its device has changed the keyring.
@Suite struct KeyringFileTests {
    @Test func `a new version is noticed once, also one with the inode number of the version before`() throws {
        let directory = URL.temporaryDirectory.appending(path: "dewpoint-keyring-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let kept = directory.appending(path: "keyring.json")
        let file = KeyringFile(state: StateDirectory(path: directory.path))
        #expect(!file.hasChanged())
        for version in ["1", "2", "3"] {
            // In place: as when the numbers of two files that are gone take turns.
            try Data(version.utf8).write(to: kept)
            #expect(file.hasChanged(), "\(version)")
            #expect(!file.hasChanged(), "\(version)")
        }
        try FileManager.default.removeItem(at: kept)
        #expect(file.hasChanged())
    }
}

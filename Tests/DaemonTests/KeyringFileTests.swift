import Foundation
import Glibc
import Linux
import Model
import Sealing
import TestStores
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

    @Test func `two that write it at once leave a whole one`() async throws {
        let directory = URL.temporaryDirectory.appending(path: "dewpoint-keyring-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let memory = try await SealedContainer.create(
            in: MemoryStore(), identity: Self.identity, passphrase: try Passphrase("correct horse"),
            recovery: RecoveryCode(), deviceName: "anna", time: 1)
        let state = StateDirectory(path: directory.path)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<10 {
                        unlink(directory.path + "/keyring.json")
                        try state.record(memory)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try state.keyring() == memory)
        // A command that is stopped while it writes holds nobody up for long.
        let lock = try Descriptor(directory.path + "/keyring.lock", O_RDWR)
        #expect(try lock.lock())
        try withExtendedLifetime(lock) {
            let error = try #require(throws: DaemonError.self) { try state.record(memory) }
            #expect(error.description.hasSuffix("another command has been writing it for two seconds"))
        }
    }

    private static let identity = ContainerIdentity(
        id: ContainerIdentifier("iCloud.org.dewpoint.Tests")!, uuid: UUID(), created: Timestamp(rawValue: 0),
        settings: .init(name: "Tests", documentScopePublic: false, folderLevels: .any))
}

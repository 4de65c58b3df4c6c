import Foundation
import Testing

@testable import dewpoint

@Suite struct DiagnosisArchiveTests {
    private func withDirectory(_ body: (String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "archive-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try body(directory)
    }

    @Test func `an archive is written for its user only`() throws {
        try withDirectory { directory in
            let archive = try #require(try DiagnosisArchive(creating: "\(directory)/new.tar.gz"))
            try archive.write(Data("bytes".utf8))
            #expect(FileManager.default.contents(atPath: archive.path) == Data("bytes".utf8))
            let mode = try FileManager.default.attributesOfItem(atPath: archive.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test func `a link that somebody has planted is not followed, and no file is replaced`() throws {
        try withDirectory { directory in
            let (victim, link) = ("\(directory)/victim", "\(directory)/planted.tar.gz")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: victim)
            #expect(try DiagnosisArchive(creating: link) == nil)
            #expect(!FileManager.default.fileExists(atPath: victim))
            try Data("kept".utf8).write(to: URL(fileURLWithPath: victim))
            #expect(try DiagnosisArchive(creating: link) == nil)
            #expect(try DiagnosisArchive(creating: victim) == nil)
            #expect(FileManager.default.contents(atPath: victim) == Data("kept".utf8))
        }
    }

    @Test func `an archive that is not complete is removed`() throws {
        try withDirectory { directory in
            let archive = try #require(try DiagnosisArchive(creating: "\(directory)/half.tar.gz"))
            archive.discard()
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
        }
    }
}

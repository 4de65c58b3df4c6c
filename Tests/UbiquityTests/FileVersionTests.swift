import Model
import Testing
import Ubiquity

@testable import Ubiquity

@Suite struct FileVersionTests {
    @Test func `a local file has a current version only`() throws {
        let scratch = try ScratchDirectory()
        let url = try scratch.file("note.txt", "hello")
        let current = try #require(NSFileVersion.currentVersionOfItem(at: url))
        #expect(current.url == url)
        #expect(current.localizedName == "note.txt")
        #expect(!current.isConflict && current.isResolved && current.hasLocalContents)
        let written = try FileManager.default.attributesOfItem(atPath: url.path)[.modificationDate] as? Date
        #expect(try #require(current.modificationDate).timeIntervalSince(try #require(written)).magnitude < 0.001)
        #expect(NSFileVersion.otherVersionsOfItem(at: url) == [])
        #expect(NSFileVersion.unresolvedConflictVersionsOfItem(at: url) == [])
        try NSFileVersion.removeOtherVersionsOfItem(at: url)
        #expect(#expect(throws: CocoaError.self) { try current.remove() }?.code == .featureUnsupported)
        #expect(NSFileVersion.version(itemAt: url, forPersistentIdentifier: current.persistentIdentifier) == current)
    }

    @Test func `a missing file has none`() {
        let url = URL(fileURLWithPath: "/etc/no-such-file")
        #expect(NSFileVersion.currentVersionOfItem(at: url) == nil)
        #expect(NSFileVersion.otherVersionsOfItem(at: url) == nil)
        #expect(NSFileVersion.unresolvedConflictVersionsOfItem(at: url) == nil)
        let error = #expect(throws: CocoaError.self) { try NSFileVersion.removeOtherVersionsOfItem(at: url) }
        #expect(error?.code == .fileReadNoSuchFile)
    }

    @Test func `a version of a notice is cheap, and knows nothing without a daemon`() {
        let version = NSFileVersion(item: URL(fileURLWithPath: "/etc/passwd"), id: "commit-7")
        #expect(version.modificationDate == nil)
        #expect(version.localizedNameOfSavingComputer == nil)
        #expect(!version.isConflict && version.isResolved && !version.hasLocalContents)
        #expect(version == NSFileVersion(item: URL(fileURLWithPath: "/etc/../etc/passwd"), id: "commit-7"))
        #expect(version != NSFileVersion(item: URL(fileURLWithPath: "/etc/passwd"), id: "commit-8"))
        #expect(!FileManager.default.fileExists(atPath: version.url.path))
    }

    @Test func `a version of a local file can replace another one`() throws {
        let scratch = try ScratchDirectory()
        let url = try scratch.file("note.txt", "hello")
        let other = try scratch.file("other.md", "other")
        let current = try #require(NSFileVersion.currentVersionOfItem(at: url))
        let result = try current.replaceItem(at: other)
        #expect(result == scratch.url.appendingPathComponent("other.txt"))
        #expect(try text(result) == "hello")
        #expect(try text(url) == "hello")
        #expect(try current.replaceItem(at: url) == url)
        #expect(try scratch.names == ["note.txt", "other.md", "other.txt"])
    }

    @Test func `dates keep their fractions`() throws {
        var version = ItemVersion(
            id: "x", kind: .earlier, date: Timestamp(seconds: 1_000_000_000, nanoseconds: 250_000_000), computer: nil,
            device: DeviceID(uuid: UUID()), size: 0, local: false)
        #expect(version.modificationDate == Date(timeIntervalSince1970: 1_000_000_000.25))
        version.date = "yesterday"
        #expect(version.modificationDate == nil)
    }

    @Test func `the identifier can be archived`() throws {
        let version = NSFileVersion(item: URL(fileURLWithPath: "/etc/passwd"), id: "commit-7")
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: version.persistentIdentifier, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSString.self, from: data) == "commit-7")
    }
}

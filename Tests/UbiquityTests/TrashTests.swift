import Glibc
import Linux
import Testing
import Ubiquity

@testable import Ubiquity

@Suite struct TrashTests {
    @Test func `items of one name are kept side by side, with their paths`() throws {
        let scratch = try ScratchDirectory()
        let home = scratch.url.appendingPathComponent("data/Trash").path
        for _ in 1...2 {
            let file = try scratch.file("a b%ü.txt", "hello")
            _ = try TrashDirectory.of(file.path, home: home).take(file.path, date: Date(timeIntervalSince1970: 0))
        }
        #expect(try scratch.names == ["data"])
        #expect(try SystemCalls.names(in: "\(home)/files").sorted() == ["a b%ü 2.txt", "a b%ü.txt"])
        let info = try text(URL(fileURLWithPath: "\(home)/info/a b%ü 2.txt.trashinfo")).split(separator: "\n")
        #expect(info[0] == "[Trash Info]")
        #expect(info[1] == "Path=\(scratch.url.path)/a%20b%25%C3%BC.txt")
        let parser = DateFormatter()
        parser.dateFormat = "'DeletionDate='yyyy-MM-dd'T'HH:mm:ss"
        #expect(parser.date(from: String(info[2])) == Date(timeIntervalSince1970: 0))
    }

    @Test func `the home trash is where the environment says`() {
        #expect(TrashDirectory.home(["XDG_DATA_HOME": "/x"]) == "/x/Trash")
        #expect(TrashDirectory.home(["XDG_DATA_HOME": "relative"]) == "\(NSHomeDirectory())/.local/share/Trash")
    }

    @Test func `a missing item cannot be trashed`() {
        let missing = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent(UUID().uuidString)
        let error = #expect(throws: CocoaError.self) {
            try FileManager.default.trashItem(at: missing, resultingItemURL: nil)
        }
        #expect(error?.code == .fileNoSuchFile)
    }
}

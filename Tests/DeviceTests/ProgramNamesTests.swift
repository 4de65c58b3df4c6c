import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

@Suite struct ProgramNamesTests {
    private let names = ProgramNames(["updatedb", "tracker-miner-fs-3", "kioworker/thumbnail.so"])

    @Test(arguments: ["updatedb", "tracker-miner-f"])
    func `a program matches by its name, of which the kernel keeps 15 bytes`(command: String) {
        #expect(names.contain(command) { [] })
    }

    @Test(arguments: ["updatedb2", "update", "tracker-miner-fs-3", "kioworker", ""])
    func `other programs do not match`(command: String) {
        #expect(!names.contain(command) { ["/usr/bin/\(command)", "/usr/lib/kio/file.so"] })
    }

    @Test(arguments: [
        (["/usr/libexec/kf6/kioworker", "/usr/lib/kf6/kio/thumbnail.so", "thumbnail"], true),
        (["kioworker", "thumbnail.so"], true), (["kioworker", "/x/notthumbnail.so"], false), (["kioworker"], false),
    ])
    func `an entry with an argument matches only a program started with it`(words: [String], isMeant: Bool) {
        #expect(names.contain("kioworker") { words } == isMeant)
    }

    @Test func `a list is empty only without any names`() {
        #expect(ProgramNames([]).isEmpty)
        #expect(!names.isEmpty && !ProgramNames(["kioworker/thumbnail.so"]).isEmpty)
    }
}

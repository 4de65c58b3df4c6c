import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

@Suite struct ProgramNamesTests {
    private let names = ProgramNames(["updatedb", "tracker-miner-fs-3", "kioworker/thumbnail.so"])

    @Test(arguments: ["updatedb", "tracker-miner-f"])
    func `a program is known by its name, of which the kernel keeps 15 bytes`(command: String) {
        #expect(names.contain(command) { [] })
    }

    @Test(arguments: ["updatedb2", "update", "tracker-miner-fs-3", "kioworker", ""])
    func `others are not meant`(command: String) {
        #expect(!names.contain(command) { ["/usr/bin/\(command)", "/usr/lib/kio/file.so"] })
    }

    @Test(arguments: [
        (["/usr/libexec/kf6/kioworker", "/usr/lib/kf6/kio/thumbnail.so", "thumbnail"], true),
        (["kioworker", "thumbnail.so"], true), (["kioworker", "/x/notthumbnail.so"], false), (["kioworker"], false),
    ])
    func `a program for many things is known by what it was started with`(words: [String], isMeant: Bool) {
        #expect(names.contain("kioworker") { words } == isMeant)
    }

    @Test func `no names mean nobody`() {
        #expect(ProgramNames([]).isEmpty)
        #expect(!names.isEmpty && !ProgramNames(["kioworker/thumbnail.so"]).isEmpty)
    }
}

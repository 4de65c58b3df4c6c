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

    @Test func `a thread of a program is recognized by its name, one of a pool only at a file's head`() {
        let names = ProgramNames(["pcmanfm#loader", "nemo#pool-nemo", "org.gnome.Nautilus#pool-org.gnome.Nautilus"])
        #expect(!names.isEmpty)
        #expect(!names.contain("pcmanfm") { [] })
        #expect(names.distinguishThreads(of: "pcmanfm") && !names.distinguishThreads(of: "loader"))
        #expect(names.contain(thread: "loader", of: "pcmanfm", readingTo: 1 << 30))
        #expect(!names.contain(thread: "pool-pcmanfm", of: "pcmanfm", readingTo: 4096))
        #expect(!names.contain(thread: "loader", of: "nemo", readingTo: 4096))
        #expect(names.contain(thread: "pool-nemo", of: "nemo", readingTo: 32 << 10))
        #expect(!names.contain(thread: "pool-nemo", of: "nemo", readingTo: 64 << 10))
        // Both names are cut as the kernel cuts them.
        #expect(names.contain(thread: "pool-org.gnome.", of: "org.gnome.Nauti", readingTo: 4096))
    }
}

import Foundation
import Testing

@testable import dewpoint

/// How the bytes of a passphrase become its text.
@Suite struct PassphraseTextTests {
    private func refusal(_ body: () throws -> Void) throws -> CommandFailure {
        try #require(throws: CommandFailure.self, performing: body)
    }

    @Test(arguments: ["correct horse", "pässwörd 日本", "e\u{301}", "\u{fffd}", "a\u{0}b", ""])
    func `what is UTF-8 is taken as it is`(text: String) throws {
        let decoded = try PassphraseText.decode(Array(text.utf8), from: "it")
        #expect(Array(decoded.utf8) == Array(text.utf8))
    }

    /// Lone bytes, a character that is cut, one that is written too long, half of a pair, and Latin-1.
    @Test(
        arguments: [
            [0xff, 0xfe], [0x61, 0xc3], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0x70, 0xe4, 0x73, 0x73], [0x80],
        ] as [[UInt8]])
    func `what is not UTF-8 is refused by where it is from, and not shown`(bytes: [UInt8]) throws {
        let failure = try refusal { _ = try PassphraseText.decode(bytes, from: "the passphrase in P") }
        #expect(failure.status == .usage)
        #expect(failure.sentence == "the passphrase in P is not UTF-8, as a passphrase must be")
    }

    @Test(arguments: [
        ("one", "one"), ("one\n", "one"), ("one\r\ntwo", "one"), ("one\rtwo\n", "one\rtwo"), ("\none", ""), ("", ""),
    ])
    func `the first line is what counts, without its end`(text: String, line: String) throws {
        #expect(try PassphraseText.decode(firstLineOf: Data(text.utf8), from: "it") == line)
    }

    @Test func `what is behind the first line need not be UTF-8`() throws {
        let data = Data(Array("one\n".utf8) + [0xff])
        #expect(try PassphraseText.decode(firstLineOf: data, from: "it") == "one")
    }

    /// Of a longer one no more is read: it may end within a character, which is not what is wrong with it.
    @Test func `what is too long is refused as that`() throws {
        let long = Array(String(repeating: "ä", count: 513).utf8)
        let failure = try refusal { _ = try PassphraseText.decode(long.dropLast(), from: "it") }
        #expect(failure.status == .usage)
        #expect(failure.sentence == "a passphrase has 1 to 1024 bytes; this one has more")
        #expect(try PassphraseText.decode(long.prefix(1024), from: "it").utf8.count == 1024)
    }

    @Test func `a file is refused by its name`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "words-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data([0xff, 0xfe, 0x0a]).write(to: URL(filePath: path))
        let failure = try refusal { _ = try PassphraseOptions.firstLine(ofFile: path) }
        #expect(failure.status == .usage)
        #expect(failure.sentence == "the passphrase in the file \(path) is not UTF-8, as a passphrase must be")
    }

    @Test(arguments: [
        "echo pw; yes", "sleep 60 & echo pw", "printf pw; sleep 60 &", "echo pw; sleep 60", "printf 'pw\\r\\nno'",
    ])
    func `of a command the first line is waited for, and no more`(command: String) throws {
        let start = ContinuousClock.now
        let output = try PassphraseCommand(command).output()
        #expect(ContinuousClock.now - start < .seconds(30))
        #expect(try PassphraseText.decode(firstLineOf: output, from: "it") == "pw")
    }

    @Test(arguments: [
        ("echo pw; exit 3", "it ended with status 3"), ("exit 4", "it ended with status 4"),
        ("true", "it printed nothing"),
    ])
    func `a command that fails gives no passphrase`(command: String, reason: String) throws {
        let failure = try refusal { _ = try PassphraseCommand(command).output() }
        #expect(failure.status == .denied)
        #expect(failure.sentence == "DEWPOINT_PASSPHRASE_COMMAND gives no passphrase: \(reason)")
    }

    @Test func `of a pipe the first line is waited for, and not its end`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "pipe-\(UUID().uuidString)").path
        try #require(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        // Open for both, so that nobody waits for the other end, which stays open.
        let writer = open(path, O_RDWR)
        defer { close(writer) }
        #expect(write(writer, "one\ntwo", 7) == 7)
        #expect(try PassphraseOptions.firstLine(ofFile: path) == "one")
    }

    @Test func `a passphrase file that is a directory is refused with the reason`() throws {
        let failure = try refusal { _ = try PassphraseOptions.firstLine(ofFile: "/tmp") }
        #expect(failure.sentence == "the passphrase file /tmp cannot be read: Is a directory")
    }
}

import Foundation
import Model
import Testing

@testable import ControlAPI

@Suite struct LineReaderTests {
    private func lines(_ pieces: [String], byteLimit: Int = 8) throws -> (lines: [String], last: String?) {
        var reader = LineReader(byteLimit: byteLimit)
        var lines: [String] = []
        for piece in pieces {
            reader.append(piece.utf8)
            while let line = try reader.next() { lines.append(String(decoding: line, as: UTF8.self)) }
        }
        return (lines, reader.last().map { String(decoding: $0, as: UTF8.self) })
    }

    @Test(arguments: [
        ["one\ntwo\nrest"], ["o", "n", "e", "\n", "two", "\nre", "st"], ["\n\none\n\n", "\ntwo\n", "rest"],
        ["one\ntwo", "\n", "", "rest"],
    ])
    func `lines do not depend on how the bytes are split into pieces`(pieces: [String]) throws {
        let (lines, last) = try lines(pieces)
        #expect(lines == ["one", "two"])
        #expect(last == "rest")
    }

    @Test func `no unfinished line remains after the last line end`() throws {
        #expect(try lines([]).last == nil)
        #expect(try lines(["one\n"]).last == nil)
    }

    @Test(arguments: ["123456789\n", "123456789", "1\n123456789", "1\n12345\n123456789\n"])
    func `a line longer than the limit is rejected, with or without a line end`(text: String) throws {
        #expect(try lines(["12345678\n12345678"]).lines == ["12345678"])
        #expect(throws: FileError(.tooLarge, "a line is longer than 0 KiB")) { try lines([text]) }
    }
}

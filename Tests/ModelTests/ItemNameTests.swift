import Model
import Testing

@Suite struct ItemNameTests {
    @Test(arguments: ["", ".", "..", "a/b", "a\0b"])
    func `a name that no file system accepts throws badName`(_ text: String) {
        #expect { try ItemName(text) } throws: { ($0 as? FileError)?.code == .badName }
    }

    @Test func `a name of 255 bytes is valid and one of 256 bytes is too long`() throws {
        #expect(try ItemName(String(repeating: "é", count: 127) + "x").string.utf8.count == 255)
        #expect {
            try ItemName(String(repeating: "x", count: 256))
        } throws: {
            ($0 as? FileError)?.code == .nameTooLong
        }
    }

    @Test func `a name that is not UTF-8 throws notUTF8`() {
        let bytes: [UInt8] = [0x66, 0xff, 0x6f]
        #expect(throws: FileError(.notUTF8, "the name is not UTF-8")) {
            try bytes.withUnsafeBufferPointer { try ItemName(bytes: $0) }
        }
    }

    @Test func `a composed and a decomposed letter are different names`() throws {
        let composed = try ItemName("\u{e9}")
        let decomposed = try ItemName("e\u{301}")
        #expect(composed.string == decomposed.string)
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
    }

    @Test func `names are ordered by their bytes`() throws {
        let names = try ["b", "B", "a", "é", "z"].map { try ItemName($0) }
        #expect(names.sorted().map(\.string) == ["B", "a", "b", "z", "é"])
    }

    @Test(arguments: [("report.pdf", "pdf"), (".hidden", ""), ("a.tar.gz", "gz"), ("none", ""), ("dot.", "")])
    func `the path extension is the part after the last dot`(_ name: String, _ expected: String) throws {
        #expect(try ItemName(name).pathExtension == expected)
    }
}

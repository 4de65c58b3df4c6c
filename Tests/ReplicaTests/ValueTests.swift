import Foundation
import Model
import Testing

@testable import Replica

@Suite struct LocalOnlyNamesTests {
    @Test(arguments: [
        "a.nosync", "build.nosync.d", ".nosync", ".DS_Store", "~$report.docx", ".a.swp", ".report.txt.swo", "4913",
        ".#a",
        ".fuse_hidden0001", ".~lock.report.odt#", "lu15340w7wmr.tmp",
    ])
    func `local-only names are recognized`(_ text: String) throws {
        // Emacs makes links.
        let sample = ItemSample(new: text == ".#a" ? .symbolicLink : .file)
        #expect(try LocalOnlyNames.standard(try ItemName(text), sample))
    }

    @Test(arguments: [
        "a", "a.txt~", "49131", "DS_Store", "a.swp", ".swp", "nosync", "#a", ".sw1", ".a.swp.txt", "é",
        ".~lock.a", "lu1.tmp.odt", ".Trash", ".Trash-1000", "Trash-1", "node_modules",
    ])
    func `all other names are synced`(_ text: String) throws {
        for kind in [ItemKind.file, .directory, .symbolicLink] {
            #expect(try !LocalOnlyNames.standard(try ItemName(text), ItemSample(new: kind)))
        }
    }
}

@Suite struct FreeNameTests {
    @Test(arguments: [
        ("report.pdf", 2, "report 2.pdf"), ("report", 3, "report 3"), (".bashrc", 2, ".bashrc 2"),
        ("a.tar.gz", 2, "a.tar 2.gz"), ("e\u{301}.txt", 12, "e\u{301} 12.txt"),
    ])
    func `the number is inserted before the extension`(_ name: String, _ number: Int, _ expected: String) throws {
        #expect(try FreeName.candidate(try ItemName(name), number: number) == (try ItemName(expected)))
    }

    @Test(arguments: [
        String(repeating: "a", count: 255), String(repeating: "é", count: 125) + ".text",
        "a." + String(repeating: "b", count: 253), String(repeating: "👍", count: 63) + ".t",
    ])
    func `a long name is truncated to fit into 255 bytes`(_ text: String) throws {
        let candidate = try FreeName.candidate(try ItemName(text), number: 10_000)
        #expect(candidate.string.utf8.count <= 255)
        #expect(candidate.string.utf8.count > 245)
        #expect(candidate.string.contains(" 10000"))
    }
}

@Suite struct ChunkSetTests {
    @Test(arguments: [0, 1, 63, 64, 65, 130])
    func `a chunk set survives encoding and decoding`(_ count: Int) {
        var set = ChunkSet(count: count)
        for index in stride(from: 0, to: count, by: 3) { set.insert(index) }
        #expect(ChunkSet(data: set.data, count: count) == set)
        #expect(set.presentCount == (count + 2) / 3)
        #expect(ChunkSet.full(count: count).isComplete)
        #expect(set.isComplete == (count <= 1))
    }

    @Test func `data of the wrong length or with bits beyond the end is refused`() {
        #expect(ChunkSet(data: Data(count: 8), count: 65) == nil)
        #expect(ChunkSet(data: Data(repeating: 0xff, count: 8), count: 63) == nil)
    }
}

@Suite struct PackedTests {
    private let content = Content(runs: [
        .zeros(byteCount: 2 << 20),
        .stored(
            pack: PackID(uuid: UUID()), offset: 77,
            chunks: [
                .init(
                    hash: ChunkHash(bytes: [UInt8](repeating: 7, count: 32))!, byteCount: 1 << 20,
                    head: ChunkHash(bytes: [UInt8](repeating: 8, count: 32))!),
                .init(hash: ChunkHash(bytes: [UInt8](repeating: 9, count: 32))!, byteCount: 3),
            ]),
    ])

    private func records() throws -> [ItemRecord] {
        let device = DeviceID(uuid: UUID())
        var record = ItemRecord(
            id: ItemID(uuid: UUID()), parent: .root, name: try ItemName("e\u{301}.txt"), kind: .file, mode: 0o4755,
            modified: Timestamp(rawValue: -5), size: content.byteCount,
            xattrs: ["user.a": Data([0, 1]), "user.b": Data(), "user.\u{e9}": Data([2]), "user.e\u{301}": Data([3])],
            content: .inline(content), device: device, base: 41)
        var all = [record]
        record.content = .manifest(ChunkHash(bytes: [UInt8](repeating: 1, count: 32))!)
        all.append(record)
        record.kind = .symbolicLink
        record.target = "../x"
        record.content = nil
        record.size = 0
        all.append(record)
        return all
    }

    @Test func `content survives encoding and decoding`() throws {
        #expect(try Content(packed: content.packed) == content)
        #expect(try Content(packed: Content.empty.packed) == .empty)
    }

    @Test func `a record survives encoding and decoding`() throws {
        for record in try records() { #expect(try ItemRecord(packed: record.packed) == record) }
    }

    @Test func `the preview is behind all that earlier readers know, and damage to it is ignored`() throws {
        var record = try records()[0]
        let plain = record.packed
        record.preview = ItemPreview(
            hash: ChunkHash(bytes: [UInt8](repeating: 5, count: 32))!, pack: .root, offset: 1 << 40, byteCount: 16384)
        let packed = record.packed
        #expect(packed.prefix(plain.count) == plain && packed.count == plain.count + 61)
        #expect(try ItemRecord(packed: packed) == record)
        record.preview = nil
        for end in plain.count..<packed.count { #expect(try ItemRecord(packed: packed.prefix(end)) == record) }
        #expect(try ItemRecord(packed: plain + [2, 3]) == record)
    }

    @Test func `truncated data is refused`() throws {
        let packed = try records()[0].packed
        for count in 0..<packed.count {
            let refusal = FileError(.inputOutput, "the index holds a damaged value; run dewpoint check")
            #expect(throws: refusal) { try ItemRecord(packed: packed.prefix(count)) }
        }
    }
}

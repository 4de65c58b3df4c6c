import Foundation
import Model
import TestStores

@testable import Remote

/// The container in `Fixtures/container`, as this version writes it, with examples of the features of the format.
///
/// The files there were written once and never change; a change that no longer produces them, or no longer reads them,
/// is a new format.
enum FixtureContainer {
    static let identity = Samples.identity
    static let otherDevice = DeviceID(uuid: Samples.uuid(0xd2))

    static let letter = Array("Dear cloud,\nhere is a letter.\n".utf8)
    static let editedLetter = Array("Dear cloud,\nhere is a better letter.\n".utf8)
    static let composed = Array("composed\n".utf8)
    static let decomposed = Array("decomposed\n".utf8)
    static let rain = Array("東京は雨\n".utf8)
    static let end = Array("the end behind a hole\n".utf8)

    /// The sparse file has 66 MiB of holes and an end, in more runs than fit into a record.
    static let sparseHoleCount: Int64 = 66
    static let mebibyte = Int64(Content.chunkByteCount)

    static func write(to store: any ObjectStore) async throws {
        try await Container.create(in: store, identity: identity)
        let log = ChangeLog(store: store)
        for commit in try await commits(store) { _ = try await log.append(commit) }
    }

    /// Writes the packs and the manifest, and returns the commits that refer to them.
    static func commits(_ store: any ObjectStore) async throws -> [Commit] {
        let makeID = Samples.counter(from: 0xa1)
        var chunks: [ChunkHash: StoredChunk] = [:]
        for pack in [[letter, composed, decomposed, rain], [editedLetter, end]] {
            for chunk in try await PackWriter.write(pack, to: store, makeID: makeID) { chunks[chunk.hash] = chunk }
        }
        func run(_ bytes: [UInt8]) throws -> Content.Run {
            guard let chunk = chunks[ChunkHash(hashing: bytes)] else { throw StoreError(.notFound, key: "fixture") }
            return .stored(
                pack: chunk.pack, offset: chunk.offset, chunks: [.init(hash: chunk.hash, byteCount: chunk.byteCount)])
        }
        func content(_ bytes: [UInt8]) throws -> ItemRecord.Reference { .inline(Content(runs: [try run(bytes)])) }
        let hole = Content.Run.zeros(byteCount: mebibyte)
        let sparse = Content(runs: [Content.Run](repeating: hole, count: Int(sparseHoleCount)) + [try run(end)])
        let manifest = try await ManifestStore(store: store).put(sparse)

        let first = [
            record(1, in: .root, "Documents", .directory, mode: 0o755, modified: 1_700_000_000_000_000_000),
            record(2, in: Samples.id(1), "letter.txt", .file, letter, try content(letter)),
            record(3, in: Samples.id(1), "caf\u{e9}.txt", .file, composed, try content(composed)),
            record(4, in: Samples.id(1), "cafe\u{301}.txt", .file, decomposed, try content(decomposed)),
            record(5, in: Samples.id(1), "empty", .file, mode: 0o600, modified: -1, [], .inline(.empty)),
            record(6, in: .root, "drafts", .directory, mode: 0o700, modified: 1_600_000_000_999_999_999),
            record(7, in: Samples.id(6), "old.txt", .file, letter, try content(letter)),
        ]
        var edited = record(2, in: Samples.id(1), "letter.txt", .file, editedLetter, try content(editedLetter), base: 1)
        edited.modified = Timestamp(rawValue: 1_700_000_001_000_000_001)
        edited.device = otherDevice
        edited.xattrs = ["user.comment": Data("für später".utf8), "user.bytes": Data([0, 1, 254, 255])]
        var directory = record(
            6, in: Samples.id(1), "雨 🌧", .directory, mode: 0o1770, modified: 1_650_000_000_000_000_000, base: 1)
        directory.xattrs = ["user.colour": Data("blue".utf8)]
        let hollow = Content(runs: [.zeros(byteCount: 2 * mebibyte), try run(end)])
        let second = [
            edited, directory,
            record(
                8, in: Samples.id(6), "東京.txt", .file, mode: 0o440, modified: 1_650_000_000_123_456_789, rain,
                try content(rain)),
            record(9, in: .root, "latest", .symbolicLink, mode: 0o777, target: "Documents/letter.txt"),
            record(10, in: .root, "passwd", .symbolicLink, mode: 0o777, target: "/../../etc/passwd"),
            record(11, in: .root, "hollow.bin", .file, size: hollow.byteCount, .inline(hollow)),
            record(12, in: .root, "sparse.img", .file, size: sparse.byteCount, manifest),
            record(13, in: .root, "all hole", .file, size: 1000, .inline(Content(runs: [.zeros(byteCount: 1000)]))),
        ]
        let third = [
            record(
                13, in: Samples.id(6), "nothing", .file, size: 1000, .inline(Content(runs: [.zeros(byteCount: 1000)])),
                base: 2)
        ]
        return [
            commit(1, first), commit(2, second, device: otherDevice),
            commit(3, third, [Commit.Tombstone(id: Samples.id(7), base: 1)]),
            commit(4, [], [Commit.Tombstone(id: Samples.id(10), base: 2)]),
        ]
    }

    /// The contents of the container after its last commit, by path, as ``RestoredTree`` reads them.
    static func tree() -> KeyValuePairs<String, RestoredTree.Entry> {
        typealias Entry = RestoredTree.Entry
        let usual: Int64 = 1_700_000_000_500_000_000
        func zeros(_ count: Int64) -> [UInt8] { [UInt8](repeating: 0, count: Int(count)) }
        return [
            "Documents": Entry(kind: .directory, mode: 0o755, modified: 1_700_000_000_000_000_000),
            "Documents/letter.txt": Entry(
                mode: 0o644, modified: 1_700_000_001_000_000_001, bytes: editedLetter,
                xattrs: ["user.comment": Array("für später".utf8), "user.bytes": [0, 1, 254, 255]]),
            "Documents/caf\u{e9}.txt": Entry(mode: 0o644, modified: usual, bytes: composed),
            "Documents/cafe\u{301}.txt": Entry(mode: 0o644, modified: usual, bytes: decomposed),
            "Documents/empty": Entry(mode: 0o600, modified: -1, bytes: []),
            "Documents/雨 🌧": Entry(
                kind: .directory, mode: 0o1770, modified: 1_650_000_000_000_000_000,
                xattrs: ["user.colour": Array("blue".utf8)]),
            "Documents/雨 🌧/東京.txt": Entry(mode: 0o440, modified: 1_650_000_000_123_456_789, bytes: rain),
            "Documents/雨 🌧/nothing": Entry(mode: 0o644, modified: usual, bytes: zeros(1000)),
            "latest": Entry(kind: .symbolicLink, mode: 0o777, modified: usual, target: "Documents/letter.txt"),
            "hollow.bin": Entry(mode: 0o644, modified: usual, bytes: zeros(2 * mebibyte) + end),
            "sparse.img": Entry(mode: 0o644, modified: usual, bytes: zeros(sparseHoleCount * mebibyte) + end),
        ]
    }

    private static func record(
        _ number: Int, in parent: ItemID, _ name: String, _ kind: ItemKind, mode: UInt16 = 0o644,
        modified: Int64 = 1_700_000_000_500_000_000, _ bytes: [UInt8]? = nil, size: Int64? = nil,
        _ content: ItemRecord.Reference? = nil, target: LinkTarget? = nil, base: CommitNumber = 0
    ) -> ItemRecord {
        ItemRecord(
            id: Samples.id(number), parent: parent, name: Samples.name(name), kind: kind, mode: mode,
            modified: Timestamp(rawValue: modified), size: size ?? Int64(bytes?.count ?? 0), target: target,
            content: content,
            device: Samples.device, base: base)
    }

    private static func commit(
        _ sequence: CommitNumber, _ records: [ItemRecord], _ tombstones: [Commit.Tombstone] = [],
        device: DeviceID = Samples.device
    ) -> Commit {
        Commit(
            sequence: sequence, device: device, deviceName: device == Samples.device ? "desk" : "Käthes Laptop",
            time: Timestamp(rawValue: 1_700_000_100_000_000_000 + Int64(sequence)),
            nonce: Samples.uuid(0xee00 + Int(sequence)),
            records: records, tombstones: tombstones)
    }
}

import Foundation
import Model
import Mutations
import TestStores
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer
@testable import Remote
@testable import Replica

/// Whatever the log contains, a device reads it, applies the valid records, and continues.
@Suite(.virtualTime, .timeLimit(.minutes(60))) struct RecordFuzzTests {
    private static func id(_ number: Int) -> String { "00000000-0000-4000-8000-" + String(format: "%012x", number) }

    private static let device = id(0xd1)
    private static let hash = String(repeating: "0123456789abcdef", count: 4)

    private static func record(_ number: Int, _ kind: String, _ more: [String: Any]) -> [String: Any] {
        let base: [String: Any] = [
            "base": 0, "device": device, "id": id(number), "kind": kind, "mode": 420,
            "modified": 1_700_000_000_000_000_000,
            "name": "item \(number)", "parent": id(0).replacingOccurrences(of: "4000-8000", with: "0000-0000"),
            "size": 0,
            "xattrs": [String: String](),
        ]
        return base.merging(more) { $1 }
    }

    private static var stored: [String: Any] {
        [
            "runs": [
                ["pack": id(0xaa), "offset": 0, "chunks": [["byteCount": 1_048_576, "hash": hash, "head": hash]]],
                ["zeros": 1_048_576], ["pack": id(0xaa), "offset": 7, "chunks": [["byteCount": 5, "hash": hash]]],
            ]
        ]
    }

    /// Directories, each in the one before, with long names, as if one program had nested them.
    private static func chain(_ mutation: inout JSONMutation, from number: Int) -> [[String: Any]] {
        var parent = id(1)
        return (0..<chainLength).map { step in
            let name = String(mutation.longText().prefix { $0 != "/" })
            let found = record(number + step, "directory", ["parent": parent, "name": name])
            parent = id(number + step)
            return found
        }
    }

    private static let chainLength = 20

    /// A commit with every kind of record and reference.
    private static var commit: [String: Any] {
        let conflict: [String: Any] = [
            "id": id(0xc0), "device": device, "deviceName": "desk", "modified": 1, "size": 0,
            "content": ["runs": [Any]()],
        ]
        return [
            "format": 1, "sequence": 1, "device": device, "deviceName": "desk", "time": 1,
            "nonce": id(0xe0).uppercased(),
            "records": [
                record(1, "directory", [:]),
                record(
                    2, "file", ["parent": id(1), "size": 2_097_157, "content": stored, "xattrs": ["user.a": "aGk="]]),
                record(3, "file", ["size": 5_000_000_000, "content": ["manifest": hash], "bytesDevice": id(0xd2)]),
                record(4, "file", ["content": ["runs": [Any]()], "conflicts": [conflict]]),
                record(5, "symbolicLink", ["target": "../a"]),
            ],
            "tombstones": [["id": id(2), "base": 0], ["id": id(6), "base": 0]],
            "condemned": ["packs/\(id(0xbb))", "manifests/\(hash)"],
        ]
    }

    /// Uses a record as a device does before it applies the record, and when it reads the bytes.
    private func use(_ record: ItemRecord, _ reader: ChunkReader) async throws {
        #expect(try ItemRecord(packed: record.packed) == record)
        for reference in record.references {
            guard case .inline(let content) = reference else { continue }
            #expect(content.pieces.count >= content.runs.count)
            if let last = content.pieces.last { #expect(last.fileOffset + Int64(last.byteCount) == content.byteCount) }
            guard let first = content.pieces.first(where: { $0.stored != nil }), let stored = first.stored else {
                continue
            }
            await #expect(throws: StoreError.self) { try await reader.fetch(pieces: [first]) { _, _ in } }
            _ = try? await reader.head(of: stored)
        }
    }

    @Test func `broken records are rejected and do no harm`() async throws {
        let store = MemoryStore()
        let device = try await TestDevice.start(on: store, name: "A")
        await device.stop()
        let reader = ChunkReader(windows: PackWindows(packs: PackStore(store: store)))
        let commit = Self.commit
        var (records, rejected, refused) = (0, 0, 0)
        for seed in 0..<JSONMutation.count {
            var mutation = JSONMutation(seed: seed)
            var commit = commit
            // Deeper with each of them: the same items under other names, moved into the last of another.
            if seed % 8 == 0, let known = commit["records"] as? [[String: Any]] {
                commit["records"] = known + Self.chain(&mutation, from: 0x1000 + Int(seed % 1024))
            }
            let text = try mutation.text(of: commit)
            let key = ChangeLog.key(1)
            guard let object = try? ContainerCoding.unpack(try ContainerCoding.pack(text, key: key), key: key),
                let read = try? DecodedCommit(text: object, sequence: 1, key: key)
            else {
                refused += 1
                continue
            }
            rejected += read.rejected.count
            records += read.commit.records.count
            for record in read.commit.records { try await use(record, reader) }
            // Applies it as the next commit of the log.
            var next = read.commit
            next.sequence = device.fileSystem.replica.applied + 1
            var contents: [ItemID: Content] = [:]
            for record in next.records {
                if case .inline(let content)? = record.content { contents[record.id] = content }
            }
            try device.fileSystem.syncEngine.session.applier.apply(next, RecordFindings(contents: contents))
        }
        #expect(records > 0 && rejected > 0 && refused > 0)
        #expect(try device.fileSystem.replica.check() == [])
        // Every item is shown, however deep it is.
        let replica = device.fileSystem.replica
        let files = try replica.read { try $0.filesBelow(.root) }
        #expect(try replica.read { try $0.paths(of: files).values }.allSatisfy { $0.string.utf8.count <= 5 << 10 })
        if JSONMutation.isAlone { #expect(JSONMutation.peakByteCount < 300 << 20) }
        try device.fileSystem.shutDown()
    }

    @Test func `broken manifests are refused and do no harm`() throws {
        var understood = 0
        for seed in 0..<JSONMutation.count {
            var mutation = JSONMutation(seed: seed)
            let text = try mutation.text(of: Self.stored)
            guard let content = try? ManifestText(text, key: "").content() else { continue }
            understood += 1
            if content.fault == nil { #expect(content.pieces.count >= content.runs.count) }
        }
        #expect(understood > 0)
    }
}

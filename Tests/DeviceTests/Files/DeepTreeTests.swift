import Control
import ControlAPI
import Foundation
import Model
import Remote
import Replica
import TestStores
import Testing

@testable import FileSystem
@testable import Sync

/// A tree that no path leads through: directories, each in the one before, with the longest names: of five
/// thousand, which take forty kilobytes in the container, the paths would take three gigabytes.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct DeepTreeTests {
    private static let depth = 1_000
    /// The most bytes of a path that is shown.
    private static let pathLimit = 4096 + 1 + 258 + 1 + 512

    private let store = FaultyStore(MemoryStore())
    private let stranger = DeviceID(uuid: UUID())

    private func append(
        _ records: [ItemRecord], _ tombstones: [Commit.Tombstone] = [], as number: CommitNumber
    ) async throws {
        let commit = Commit(
            sequence: number, device: stranger, deviceName: "stranger", time: TestTime().environment.now(),
            nonce: UUID(),
            records: records, tombstones: tombstones)
        #expect(try await ChangeLog(store: store).append(commit) == .landed)
    }

    private func chain() throws -> [ItemRecord] {
        var records: [ItemRecord] = []
        for number in 0..<Self.depth {
            let name = "\(number)-" + String(repeating: "n", count: 250 - String(number).utf8.count)
            records.append(
                ItemRecord(
                    id: ItemID(uuid: UUID()), parent: records.last?.id ?? .root, name: try ItemName(name),
                    kind: .directory, mode: 0o755, modified: Timestamp(rawValue: 1), size: 0, content: nil,
                    device: stranger, base: 0))
        }
        return records
    }

    @Test func `its items are shown with the beginnings and the ends of their paths, to followers and in the trash`()
        async throws
    {
        let records = try chain()
        let device = try await TestDevice.start(on: store, name: "A")
        let fileSystem = device.fileSystem
        // Told as they come, and listed when they are there.
        var early = try ItemFeed(fileSystem, below: "")
        try await append(records, as: 1)
        try await ContainerSync(fileSystem).sync(wait: true)
        var late = try ItemFeed(fileSystem, below: "")
        for paths in [try await told(&early), try await told(&late)] {
            #expect(paths.count == Self.depth)
            #expect(paths.allSatisfy { $0.utf8.count <= Self.pathLimit })
            #expect(paths.contains { $0.hasSuffix("/" + records[Self.depth - 1].name.string) })
            #expect(paths.allSatisfy { $0.hasPrefix(records[0].name.string) })
        }
        early.end()
        late.end()

        try await append([], records.map { Commit.Tombstone(id: $0.id, base: 1) }, as: 2)
        try await ContainerSync(fileSystem).sync(wait: true)
        #expect(try device.names().isEmpty)
        let trash = Array(try TrashRequest().listing(in: device.control))
        #expect(trash.count == Self.depth && trash.allSatisfy { $0.path.utf8.count <= Self.pathLimit })
        try await device.close()
    }

    /// The paths of the items that are told until all are.
    private func told(_ feed: inout ItemFeed) async throws -> Set<String> {
        var paths: Set<String> = []
        var isGathered = false
        while !isGathered || paths.count < Self.depth {
            for update in try await feed.next() {
                switch update {
                case .item(let status) where !status.path.isEmpty: paths.insert(status.path)
                case .gathered: isGathered = true
                default: break
                }
            }
        }
        return paths
    }

    @Test func `following what lies deeper than a path can lead is refused`() async throws {
        let device = try await TestDevice.start(on: store, name: "A")
        let long = [String](repeating: String(repeating: "n", count: 255), count: 17).joined(separator: "/")
        #expect(throws: FileError(.nameTooLong, "paths of more than 4096 bytes cannot be followed")) {
            _ = try ItemFeed(device.fileSystem, below: long)
        }
        try await device.close()
    }

    @Test func `an emptied chain goes, but for the directories above what is kept`() async throws {
        let records = try chain().prefix(10)
        let a = try await TestDevice.start(on: store, name: "A")
        try await append(Array(records), as: 1)
        try await a.control.sync.sync(wait: true)
        // A new file in the fifth keeps that one and those above it; its parents come first in the list of deletions.
        let path = records.prefix(5).map(\.name.string).joined(separator: "/")
        try PauseRequest(path: "", paused: true).perform(in: a.control)
        try await a.write("mine", to: "\(path)/mine")
        try await append([], records.map { Commit.Tombstone(id: $0.id, base: 1) }, as: 2)
        try PauseRequest(path: "", paused: false).perform(in: a.control)
        try await a.control.sync.sync(wait: true)
        #expect(try await a.read("\(path)/mine") == "mine")
        #expect(try a.fileSystem.replica.read { try $0.facts(at: "\(path)/\(records[5].name.string)") } == nil)
        try await a.close()
    }
}

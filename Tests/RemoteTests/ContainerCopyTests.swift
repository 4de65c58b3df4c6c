import Foundation
import Model
import SeededRandomness
import Synchronization
import TestStores
import Testing

@testable import Remote

/// Copies of containers, over links that fail.
@Suite struct ContainerCopyTests {
    private let source = MemoryStore()
    private let target = MemoryStore()
    private let scratch = FileManager.default.temporaryDirectory.appending(path: "copy-\(UUID().uuidString)").path

    private func fill() async throws {
        for index in 0..<12 {
            try await source.put("packs/\(index)", .bytes([UInt8](repeating: UInt8(index), count: index * 10_000)))
            try await source.put("manifests/\(index)", .bytes([UInt8(index), 1, 2]))
        }
        for number in 1...9 as ClosedRange<UInt64> {
            try await source.put(ChangeLog.key(number), .bytes(number < 4 ? [] : [UInt8(number)]))
        }
        for number in [3, 7] as [UInt64] {
            try await source.put(SnapshotStore.key(number), .bytes([9, UInt8(number)]))
        }
        // What is not the container's, or stays with its place.
        try await source.put("shares/1", .bytes([1]))
        try await source.put("container.json", .bytes([1]))
    }

    private func all(_ store: MemoryStore) async throws -> [ObjectAddress: [UInt8]] {
        var objects: [ObjectAddress: [UInt8]] = [:]
        for prefix in ["packs/", "manifests/", "log/", "snapshot/"] {
            for line in try await store.list(prefix: prefix, after: nil, limit: 1000) {
                objects[.container(line.key)] = try await store.get(line.key, range: nil).collect(upTo: 1 << 20)
            }
        }
        return objects
    }

    private func copy(
        from source: (any ObjectStore)? = nil, to target: any ObjectStore
    ) async throws -> ContainerCopy.Report {
        try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: scratch) }
        let report = try await ContainerCopy(from: source ?? self.source, to: target, scratch: scratch).run()
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch) == [])
        return report
    }

    @Test func `everything of the container is copied once, and nothing else`() async throws {
        try await fill()
        let report = try await copy(to: target)
        #expect(report.objectCount == 35 && report.presentCount == 0 && report.commit == 9)
        #expect(try await all(target) == all(source))
        #expect(try await target.list(prefix: "", after: nil, limit: 1000).count == 35)
        let again = try await copy(to: target)
        #expect(again.objectCount == 0 && again.commit == 9)
        // What was written since is copied, too.
        try await source.put("packs/new", .bytes([1]))
        try await source.put(ChangeLog.key(10), .bytes([10]))
        #expect(try await copy(to: target).objectCount == 2)
        #expect(try await all(target) == all(source))
    }

    @Test(arguments: 1...20) func `a copy that fails at any moment is continued`(seed: UInt64) async throws {
        try await fill()
        let random = SeededFaults(seed: seed)
        let (from, to) = (FaultyStore(source, decide: random.decide), FaultyStore(target, decide: random.decide))
        for attempt in 1... {
            #expect(attempt < 500)
            do {
                _ = try await copy(from: from, to: to)
                break
            } catch let failure as ContainerCopy.Failure {
                #expect(failure.error.code == .unavailable)
                // At every moment it is the source as it was.
                let log = try await target.list(prefix: "log/", after: nil, limit: 1000).map(\.key)
                #expect(log == (1..<UInt64(log.count + 1)).map(ChangeLog.key))
            }
        }
        #expect(try await all(target) == all(source))
    }

    @Test func `an object on its way is in no directory`() async throws {
        try await fill()
        let seen = Mutex<[String]>([])
        let faulty = FaultyStore(target) { [scratch] operation, _ in
            guard operation == .create else { return nil }
            let files = (try? FileManager.default.contentsOfDirectory(atPath: scratch)) ?? ["unreadable"]
            seen.withLock { $0 += files }
            return nil
        }
        #expect(try await copy(to: faulty).objectCount == 35)
        #expect(seen.withLock(\.self) == [])
    }

    /// Fails every tenth call, before or after its effect.
    private final class SeededFaults: Sendable {
        private let random: Mutex<SeededGenerator>

        init(seed: UInt64) { random = Mutex(SeededGenerator(seed: seed)) }

        @Sendable func decide(_ operation: FaultyStore.Operation, _ key: String) -> FaultyStore.Fault? {
            switch random.withLock({ Int.random(in: 0..<20, using: &$0) }) {
            case 0: .failBefore(.unavailable)
            case 1: .failAfter(.unavailable)
            default: nil
            }
        }
    }

    @Test func `bytes that arrive differently are noticed, and another commit is left alone`() async throws {
        try await fill()
        let faulty = FaultyStore(target)
        faulty.plan(.damage(offset: 0), on: .create, prefix: "packs/9")
        await #expect(throws: ContainerCopy.Failure.self) { _ = try await copy(to: faulty) }
        try await target.put(ChangeLog.key(5), .bytes([77]))
        await #expect(throws: ContainerCopy.Failure.self) { _ = try await copy(to: target) }
        #expect(try await target.get(ChangeLog.key(5), range: nil).collect(upTo: 9) == [77])
    }

    private func refusal(to target: (any ObjectStore)? = nil) async -> (ContainerCopy.Failure.Side, StoreError)? {
        let failure = await #expect(throws: ContainerCopy.Failure.self) {
            _ = try await copy(to: target ?? self.target)
        }
        return failure.map { ($0.side, $0.error) }
    }

    @Test(arguments: ["packs/3", "manifests/3", ChangeLog.key(5), SnapshotStore.key(7)])
    func `an object that is there with another length is refused`(key: String) async throws {
        try await fill()
        _ = try await copy(to: target)
        try await target.put(key, .bytes([3, 3, 3, 3]))
        let refused = try #require(await refusal())
        #expect(refused == (.target, StoreError(.corrupt, key: key)))
        #expect(try await target.get(key, range: nil).collect(upTo: 9) == [3, 3, 3, 3])
        // A commit that was trimmed in one of them is the same.
        try await target.put(key, try await .bytes(source.get(key, range: nil).collect(upTo: 1 << 20)))
        try await target.put(ChangeLog.key(4), .bytes([]))
        #expect(try await copy(to: target).objectCount == 0)
    }

    @Test(arguments: [FaultyStore.Fault.damage(offset: 0), .truncate(byteCount: 5), .failBefore(.unavailable)])
    func `what could not be read back is not left to be taken for right`(fault: FaultyStore.Fault) async throws {
        try await fill()
        let faulty = FaultyStore(target)
        let operation: FaultyStore.Operation = fault == .failBefore(.unavailable) ? .get : .create
        faulty.plan(fault, on: operation, prefix: "packs/3")
        _ = try #require(await refusal(to: faulty))
        #expect(try await !all(target).keys.contains(.container("packs/3")))
        #expect(try await copy(to: target).commit == 9)
        #expect(try await all(target) == all(source))
    }

    @Test func `a log with a gap is not copied`() async throws {
        try await fill()
        try await source.delete(ChangeLog.key(6))
        let refused = try #require(await refusal())
        #expect(refused == (.source, StoreError(.corrupt, key: ChangeLog.key(6))))
        #expect(try await all(target) == [:])
    }

    @Test func `a container with adopted objects is refused`() async throws {
        try await fill()
        try await source.put("adopted/1", .bytes([1]))
        await #expect(throws: ContainerCopy.Failure.self) { _ = try await copy(to: target) }
        #expect(try await all(target) == [:])
    }
}

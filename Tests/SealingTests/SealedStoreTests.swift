import Crypto
import Foundation
import Model
import Mutations
import Remote
import SeededRandomness
import TestStores
import Testing

@testable import Sealing

/// What the store below sees, and what it can do.
@Suite struct SealedStoreTests {
    private let base = MemoryStore()
    private let keys = Self.keys()
    private var store: SealedStore { SealedStore(base, keys: keys) }

    private static func keys(
        container: UUID = UUID(), epoch: UInt32 = 1, epochs: [UInt32: SymmetricKey]? = nil
    ) -> SealingKeys {
        SealingKeys(
            container: container, epoch: epoch, epochKeys: epochs ?? [epoch: SymmetricKey(size: .bits256)],
            containerKey: SymmetricKey(size: .bits256))
    }

    private func bytes(_ count: Int) -> [UInt8] {
        var generator = SeededGenerator(seed: UInt64(count))
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    private func stored(_ key: String) async throws -> [UInt8] {
        try await base.get(key, range: nil).collect(upTo: 1 << 30)
    }

    private func whole(_ key: String, _ range: Range<Int64>? = nil) async throws -> [UInt8] {
        try await store.get(key, range: range).collect(upTo: 1 << 30)
    }

    private func damaged(_ key: String) -> StoreError { StoreError(.corrupt, key: key) }

    // MARK: What it learns

    @Test func `equal objects are not equal in the store, and show none of their bytes`() async throws {
        let text = Array(String(repeating: "a known sentence ", count: 100).utf8)
        for key in ["packs/a", "packs/b"] { try await store.put(key, .bytes(text)) }
        let (a, b) = (try await stored("packs/a"), try await stored("packs/b"))
        #expect(a != b && a.count == b.count)
        #expect(Data(a).range(of: Data(text.prefix(8))) == nil)
    }

    @Test(arguments: [0, 1, 100, 4096, 4097, 65_536, 70_001])
    func `the length in a listing is known from that of the object`(count: Int) async throws {
        for key in ["packs/a", "manifests/\(String(repeating: "a", count: 64))", "log/00000000000000000001"] {
            try await store.put(key, .bytes(bytes(count)))
            let lines = try await store.list(prefix: "", after: nil, limit: 9)
            let listed = try #require(lines.first { $0.key.utf8.elementsEqual(key.utf8) }).byteCount
            #expect(listed == store.listedByteCount(Int64(count), of: key))
            #expect(listed == store.listedByteCount(listed, of: key))
        }
    }

    @Test func `names that are hashes are hidden, and found in a listing`() async throws {
        let hashes = (0..<3).map { index in
            SHA256.hash(data: [UInt8(index)]).map { String(format: "%02x", $0) }.joined()
        }
        for hash in hashes { try await store.create("manifests/\(hash)", .bytes([1])) }
        await #expect(throws: StoreError(.preconditionFailed, key: "manifests/\(hashes[0])")) {
            try await store.create("manifests/\(hashes[0])", .bytes([1]))
        }
        let seen = try await base.list(prefix: "", after: nil, limit: 9).map(\.key)
        for hash in hashes { #expect(!seen.contains { $0.contains(hash.prefix(16)) }) }
        // What somebody else puts there is none of ours, whatever its name.
        try await base.put("manifests/\(hashes[0])", .bytes([1]))
        try await base.put("manifests/" + String(repeating: "a", count: 96), .bytes([1]))
        var found: [String] = []
        while let line = try await store.list(prefix: "manifests/", after: found.last, limit: 1).first {
            found.append(line.key)
        }
        #expect(found.sorted() == hashes.map { "manifests/\($0)" }.sorted())
        let missing = "manifests/" + String(repeating: "0", count: 64)
        await #expect(throws: StoreError(.notFound, key: missing)) { _ = try await whole(missing) }
        try await store.delete("manifests/\(hashes[1])")
        #expect(try await store.list(prefix: "manifests/", after: nil, limit: 9).count == 2)
    }

    @Test func `the container's description is sealed, and the plain one is not shown`() async throws {
        try await base.put("container.json", .bytes(Array("plain".utf8)))
        try await store.create("container.json", .bytes([1, 2]))
        #expect(try await whole("container.json") == [1, 2])
        #expect(try await store.list(prefix: "", after: nil, limit: 9).map(\.key) == ["container.json"])
        #expect(try await stored("container.json") == Array("plain".utf8))
    }

    @Test func `keyrings are stored as they are`() async throws {
        try await store.create("keyring/1", .bytes([1, 2, 3]))
        #expect(try await stored("keyring/1") == [1, 2, 3])
        #expect(try await store.head(.container("keyring/1")).byteCount == 3)
    }

    @Test func `objects beside the container are refused`() async throws {
        await #expect(throws: StoreError(.invalid, key: "photos/a")) {
            _ = try await store.get(.neighbour("photos/a"), range: nil)
        }
        await #expect(throws: StoreError(.invalid, key: "photos/")) {
            _ = try await store.list(.neighbour("photos/"), after: nil, limit: 1)
        }
    }

    // MARK: What it does

    static let lengths = [0, 1, 300, 65_535, 65_536, 65_537, 200_000]

    /// Every byte of a short object, and some of a long one.
    @Test(arguments: lengths) func `an object with another bit is refused`(length: Int) async throws {
        try await store.put("packs/a", .bytes(bytes(length)))
        let good = try await stored("packs/a")
        for place in stride(from: 0, to: good.count, by: max(1, good.count / 300)) + [good.count - 1] {
            var bad = good
            bad[place] ^= UInt8(1) << UInt8(place % 8)
            try await base.put("packs/a", .bytes(bad))
            await #expect(throws: damaged("packs/a")) { _ = try await whole("packs/a") }
        }
    }

    @Test(arguments: lengths) func `an object that was cut or continued is refused`(length: Int) async throws {
        try await store.put("packs/a", .bytes(bytes(length)))
        let good = try await stored("packs/a")
        var wrong = stride(from: 0, to: good.count, by: max(1, good.count / 100)).map { Array(good.prefix($0)) }
        wrong += [Array(good.dropLast()), good + [0], good + good.suffix(65_552), good + good]
        for bad in wrong {
            try await base.put("packs/a", .bytes(bad))
            await #expect(throws: damaged("packs/a"), "\(bad.count) of \(good.count)") {
                _ = try await whole("packs/a")
            }
        }
    }

    @Test func `segments that change places are refused, also by readers of a part`() async throws {
        try await store.put("packs/a", .bytes(bytes(200_000)))
        let good = try await stored("packs/a")
        let (first, second) = (108..<108 + 65_552, 108 + 65_552..<108 + 2 * 65_552)
        try await base.put(
            "packs/a", .bytes(Array(good[..<108] + good[second] + good[first] + good[second.upperBound...])))
        await #expect(throws: damaged("packs/a")) { _ = try await whole("packs/a") }
        await #expect(throws: damaged("packs/a")) { _ = try await whole("packs/a", 70_000..<70_001) }
        // Of the part that is in its place, nothing is wrong.
        #expect(try await whole("packs/a", 140_000..<140_003) == Array(bytes(200_000)[140_000..<140_003]))
    }

    @Test func `an object under another name, in another container or of an unknown epoch is refused`() async throws {
        try await store.put("packs/a", .bytes([1, 2, 3]))
        try await base.put("packs/b", .bytes(try await stored("packs/a")))
        await #expect(throws: damaged("packs/b")) { _ = try await whole("packs/b") }
        let epochs = [UInt32(1): SymmetricKey(size: .bits256)]
        let (here, there) = (Self.keys(epochs: epochs), Self.keys(epochs: epochs))
        try await SealedStore(base, keys: here).put("packs/c", .bytes([1]))
        await #expect(throws: damaged("packs/c")) {
            _ = try await SealedStore(base, keys: there).get("packs/c", range: nil).collect(upTo: 9)
        }
        try await SealedStore(base, keys: Self.keys(epoch: 7)).put("packs/d", .bytes([1]))
        await #expect(throws: damaged("packs/d")) { _ = try await whole("packs/d") }
    }

    @Test func `objects of earlier epochs are read, and new ones are sealed in the present one`() async throws {
        let (old, new) = (SymmetricKey(size: .bits256), SymmetricKey(size: .bits256))
        let container = UUID()
        let before = SealedStore(base, keys: Self.keys(container: container, epochs: [1: old]))
        let after = SealedStore(base, keys: Self.keys(container: container, epoch: 2, epochs: [1: old, 2: new]))
        try await before.put("packs/a", .bytes([1]))
        #expect(try await after.get("packs/a", range: nil).collect(upTo: 9) == [1])
        try await after.put("packs/b", .bytes([2]))
        await #expect(throws: damaged("packs/b")) { _ = try await before.get("packs/b", range: nil) }
    }

    @Test func `a plain object is refused, and does not stop a listing`() async throws {
        try await base.put("packs/a", .bytes(Array("plain".utf8)))
        await #expect(throws: damaged("packs/a")) { _ = try await whole("packs/a") }
        await #expect(throws: damaged("packs/a")) { _ = try await store.byteCount(of: "packs/a") }
        try await base.put("packs/b", .bytes([]))
        // None is taken for a trimmed commit.
        #expect(try await store.list(prefix: "packs/", after: nil, limit: 9).map(\.byteCount) == [5, 1])
    }

    // MARK: Parts

    @Test func `any part is read, with one request more for the first of an object`() async throws {
        let all = bytes(1_000_000)
        let counting = FaultyStore(base)
        let store = SealedStore(counting, keys: keys)
        try await store.put("packs/a", .bytes(all))
        var generator = SeededGenerator(seed: 7)
        for index in 0..<200 {
            let start = Int64.random(in: 0...1_000_100, using: &generator)
            let range = start..<start + Int64.random(in: 0...200_000, using: &generator)
            let read = try await store.get("packs/a", range: range).collect(upTo: 1 << 20)
            let clipped = range.clamped(to: 0..<1_000_000)
            #expect(read == Array(all[Int(clipped.lowerBound)..<Int(clipped.upperBound)]), "\(range)")
            #expect(counting.callCount(.get, prefix: "packs/") <= index + 2)
        }
    }

    @Test func `ranges of one pack that are read at the same time wait for one request of its header`() async throws {
        let all = bytes(1_000_000)
        try await store.put("packs/a", .bytes(all))
        let starts: [Int64] = [100_000, 300_000, 500_000, 900_000]
        let answers = Signal()
        let counting = FaultyStore(
            base, decide: { (_, _) in .delay(.zero) }, sleep: { _ in await answers.wait(since: 0) })
        let store = SealedStore(counting, keys: keys)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for start in starts {
                group.addTask {
                    let read = try await store.get("packs/a", range: start..<start + 10).collect(upTo: 10)
                    #expect(read == Array(all[Int(start)..<Int(start) + 10]))
                }
            }
            while counting.callCount(.get) < starts.count + 1 { await Task.yield() }
            answers.raise()
            try await group.waitForAll()
        }
        #expect(counting.callCount(.get) == starts.count + 1)
    }

    @Test func `a range at the end of all numbers has no bytes`() async throws {
        try await store.put("packs/a", .bytes(bytes(70_000)))
        for range in [Int64.max - 1..<Int64.max, 5 << 40..<Int64.max] {
            #expect(try await whole("packs/a", range).isEmpty)
        }
        #expect(try await whole("packs/a", 69_999..<Int64.max).count == 1)
    }

    @Test func `an object that was written again is read, however it was read before`() async throws {
        try await store.put("packs/a", .bytes(bytes(100_000)))
        let reader = SealedStore(base, keys: keys)
        #expect(try await reader.get("packs/a", range: 70_000..<70_001).collect(upTo: 1).count == 1)
        // As when a write that seemed to fail lands after it was repeated.
        try await store.put("packs/a", .bytes(bytes(100_000)))
        await #expect(throws: damaged("packs/a")) {
            _ = try await reader.get("packs/a", range: 70_000..<70_001).collect(upTo: 1)
        }
        #expect(
            try await reader.get("packs/a", range: 70_000..<70_001).collect(upTo: 1) == [bytes(100_000)[70_000]])
    }

    @Test func `random damage of any kind never gives other bytes`() async throws {
        let all = bytes(150_000)
        try await store.put("packs/a", .bytes(all))
        let good = try await stored("packs/a")
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<JSONMutation.count / 4 {
            var bad = good
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<bad.count, using: &generator)
                switch Int.random(in: 0...3, using: &generator) {
                case 0: bad[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: bad.removeSubrange(place..<min(bad.count, place + 65_552))
                case 2: bad.insert(contentsOf: good.prefix(Int.random(in: 1...70_000, using: &generator)), at: place)
                default: bad += bad.suffix(place)
                }
                if bad.isEmpty { bad = [0] }
            }
            try await base.put("packs/a", .bytes(bad))
            for range in [nil, 65_000..<66_000 as Range<Int64>] {
                let read = try? await whole("packs/a", range)
                let expected = range.map { Array(all[Int($0.lowerBound)..<Int($0.upperBound)]) } ?? all
                #expect(read == nil || read == expected)
            }
        }
    }
}

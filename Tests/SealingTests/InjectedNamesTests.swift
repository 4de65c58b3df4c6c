import Foundation
import Model
import SeededRandomness
import TestStores
import Testing

@testable import Remote
@testable import Sealing

/// A store that has names put into a container, as by mail to somebody who saves what comes, and watches how long commits
/// become: where a commit is compressed, a name that is in it twice makes it shorter, and so tells a guess from a hit (CRIME,
/// Rizzo and Duong, 2012).
///
/// The watcher knows all that a commit has but UUIDs, hashes, and which of two names of one length is in it. It puts one of
/// the two into the same commit, and other names until hit and miss are on two sides of a padded length. It sees that length.
@Suite struct InjectedNamesTests {
    /// How often it guesses: 300 times, or the value of the environment variable `DEWPOINT_TRIALS`.
    fileprivate static var trialCount: Int {
        ProcessInfo.processInfo.environment["DEWPOINT_TRIALS"].flatMap { Int($0) } ?? 300
    }

    private struct Watcher {
        private static let nameByteCount = 24
        /// The padding of commits.
        private static let unit = 4096.0
        /// The records in which there are other names: with the longest, they take more than that, also compressed.
        private static let fillerCount = 30
        static let key = SealedHistory.commitKey(7)

        private var generator = SeededGenerator(seed: 20)

        // MARK: Commits

        private mutating func randomBytes(_ count: Int) -> [UInt8] {
            (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }

        private mutating func uuid() -> UUID { UUID(bytes: randomBytes(16)) }

        private mutating func letters(_ count: Int) -> String {
            String(
                decoding: (0..<count).map { _ in
                    UInt8.random(in: UInt8(ascii: "a")...UInt8(ascii: "z"), using: &generator)
                },
                as: UTF8.self)
        }

        private mutating func record(_ name: String) throws -> ItemRecord {
            let hash = try #require(ChunkHash(bytes: randomBytes(32)))
            let run = Content.Run.stored(
                pack: PackID(uuid: uuid()), offset: 0, chunks: [Content.Chunk(hash: hash, byteCount: 1000)])
            return ItemRecord(
                id: ItemID(uuid: uuid()), parent: ItemID(uuid: uuid()), name: try ItemName(name), kind: .file,
                mode: 0o644,
                modified: Timestamp(
                    rawValue: 1_700_000_000_000_000_000 + Int64.random(in: 0..<1 << 50, using: &generator)),
                size: 1000, content: .inline(Content(runs: [run])), device: DeviceID(uuid: uuid()), base: 0)
        }

        /// - Parameter filler: How many letters of other names are put into it.
        private mutating func commit(_ secret: String, injecting guess: String, filler: Int) throws -> Commit {
            var records = [try record(secret), try record(guess)]
            for index in 0..<Self.fillerCount {
                records.append(try record(letters((filler + index) / Self.fillerCount)))
            }
            return Commit(
                sequence: 7, device: DeviceID(uuid: uuid()), deviceName: "annas-laptop",
                time: Timestamp(rawValue: 1_700_000_000_000_000_000 + Int64.random(in: 0..<1 << 50, using: &generator)),
                nonce: uuid(), previous: uuid(), records: records, tombstones: [])
        }

        // MARK: The watcher

        /// What a commit is before it is padded.
        static func byteCount(_ commit: Commit, isCompressed: Bool) throws -> Int {
            let text = try CommitText.encode(commit, key: Self.key)
            return try ContainerCoding.pack(text, key: Self.key, isCompressed ? .usual : .none).count
        }

        /// The mean length for a hit and a miss.
        private mutating func mean(filler: Int, isCompressed: Bool) throws -> (hit: Double, miss: Double) {
            let sampleCount = 20
            var (hit, miss) = (0, 0)
            for _ in 0..<sampleCount {
                let (name, other) = (letters(Self.nameByteCount), letters(Self.nameByteCount))
                hit += try Self.byteCount(commit(name, injecting: name, filler: filler), isCompressed: isCompressed)
                miss += try Self.byteCount(commit(other, injecting: name, filler: filler), isCompressed: isCompressed)
            }
            return (Double(hit) / Double(sampleCount), Double(miss) / Double(sampleCount))
        }

        /// With how many letters the lengths for a hit and a miss are on two sides of a multiple of the padding, and of which.
        private mutating func aim(isCompressed: Bool) throws -> (filler: Int, boundary: Int) {
            let range = Self.fillerCount...Self.fillerCount * ItemName.byteLimit
            var filler = range.upperBound / 2
            var boundary = 0.0
            var best = (filler: filler, distance: Double.infinity)
            for _ in 0..<10 {
                let (hit, miss) = try mean(filler: filler, isCompressed: isCompressed)
                let middle = (hit + miss) / 2
                if boundary == 0 { boundary = (middle / Self.unit).rounded() * Self.unit }
                let distance = boundary - middle
                if abs(distance) < abs(best.distance) { best = (filler, distance) }
                // A letter takes a byte, or some 5 bits where it is compressed.
                filler += Int((distance * (isCompressed ? 1.6 : 1)).rounded())
                filler = min(max(filler, range.lowerBound), range.upperBound)
            }
            return (best.filler, Int(boundary))
        }

        /// - Parameter observe: The padded length that a watcher sees.
        /// - Returns: How often it is right.
        mutating func guess(
            isCompressed: Bool, _ observe: (Commit) async throws -> Int
        ) async throws -> Int {
            let (filler, boundary) = try aim(isCompressed: isCompressed)
            var rightCount = 0
            for _ in 0..<InjectedNamesTests.trialCount {
                let (name, other) = (letters(Self.nameByteCount), letters(Self.nameByteCount))
                let isHit = Bool.random(using: &generator)
                let commit = try commit(isHit ? name : other, injecting: name, filler: filler)
                if (try await observe(commit) <= boundary) == isHit { rightCount += 1 }
            }
            return rightCount
        }
    }

    // MARK: Trials

    @Test func `who puts names into a container learns nothing of others from the lengths of commits`()
        async throws
    {
        var watcher = Watcher()
        let keys = RingSecrets().sealingKeys(of: UUID())
        let rightCount = try await watcher.guess(isCompressed: false) { commit in
            let base = MemoryStore()
            let outcome = try await ChangeLog(store: SealedStore(base, keys: keys)).append(commit)
            #expect(outcome == .landed)
            let line = try await base.head(.container(Watcher.key))
            let padded = try #require(SealedLayout.paddedByteCount(ofSealed: line.byteCount))
            // What it has aimed at is what is written.
            let byteCount = try Watcher.byteCount(commit, isCompressed: false)
            #expect(padded == Padding.of(key: Watcher.key).paddedByteCount(Int64(byteCount)))
            return Int(padded)
        }
        print("injected names: \(rightCount) of \(Self.trialCount) guesses are right")
        // Four standard deviations of a coin.
        let deviation = Double(Self.trialCount).squareRoot() / 2
        #expect(abs(Double(rightCount) - Double(Self.trialCount) / 2) < 4 * deviation, "\(rightCount)")
    }

    @Test func `the same watcher would know, if commits were compressed`() async throws {
        var watcher = Watcher()
        let rightCount = try await watcher.guess(isCompressed: true) { commit in
            let byteCount = try Watcher.byteCount(commit, isCompressed: true)
            return Int(Padding.of(key: Watcher.key).paddedByteCount(Int64(byteCount)))
        }
        print("injected names, compressed: \(rightCount) of \(Self.trialCount) guesses are right")
        #expect(rightCount > Self.trialCount * 7 / 10, "\(rightCount)")
    }
}

import Crypto
import Foundation
import Model
import SeededRandomness
import Testing

@testable import Remote

/// What devices tell each other is read by devices of the same container only, and nothing else is taken for it.
@Suite struct HintDatagramTests {
    private let container = UUID(uuidString: "6B29FC40-CA47-1067-B31D-00DD010662DA")!
    private let device = DeviceID(uuid: UUID(uuidString: "01234567-89AB-CDEF-0123-456789ABCDEF")!)
    private let now = Timestamp(rawValue: 1_796_000_000_123_456_789)
    private let day = Duration.seconds(86_400)
    private var key: HintKey { HintKey(ofPlain: container, at: "bucket/notes/") }

    private func hint(_ number: CommitNumber = 42, at time: Timestamp? = nil, hash: Data? = nil) -> CommitHint {
        CommitHint(device: device, number: number, time: time ?? now, hash: hash)
    }

    private func bytes(_ hint: CommitHint) throws -> [UInt8] { try #require(HintDatagram.encode(hint, key)) }

    @Test(arguments: [0, 1, 42, Commit.highestNumber] as [CommitNumber], [nil, Data(repeating: 7, count: 32)])
    func `a hint is read as it was told`(number: CommitNumber, hash: Data?) throws {
        let hint = hint(number, hash: hash)
        let bytes = try bytes(hint)
        #expect(bytes.count == (hash == nil ? 73 : 105))
        #expect(HintDatagram.decode(bytes, key, now: now) == hint)
    }

    @Test func `a number that no commit has is refused`() throws {
        for number in [Commit.highestNumber + 1, .max] {
            #expect(HintDatagram.decode(try bytes(hint(number)), key, now: now) == nil)
        }
    }

    @Test func `clocks may be on different sides of midnight, and a day off, but not two`() throws {
        for days in -1...1 {
            let told = hint(at: now.later(by: day * days))
            #expect(HintDatagram.decode(try bytes(told), key, now: now) == told)
        }
        for days in [-2, 2] {
            #expect(HintDatagram.decode(try bytes(hint(at: now.later(by: day * days))), key, now: now) == nil)
        }
        for end in [Int64.min, .max] {
            let time = Timestamp(rawValue: end)
            #expect(HintDatagram.decode(try bytes(hint(at: time)), key, now: time) == hint(at: time))
        }
    }

    @Test func `neither another container, nor a copy of it elsewhere, nor a plain key of an encrypted one opens it`()
        throws
    {
        let bytes = try bytes(hint())
        #expect(HintDatagram.decode(bytes, HintKey(ofPlain: UUID(), at: "bucket/notes/"), now: now) == nil)
        #expect(HintDatagram.decode(bytes, HintKey(ofPlain: container, at: "bucket/copy/"), now: now) == nil)
        let secret = HintKey(secret: SymmetricKey(size: .bits256), of: container)
        #expect(HintDatagram.decode(bytes, secret, now: now) == nil)
    }

    @Test func `what goes through the network shows neither container nor device, and no day looks like another`()
        throws
    {
        let raw = withUnsafeBytes(of: container.uuid) { Array($0) }
        let (today, tomorrow) = (try bytes(hint()), try bytes(hint(at: now.later(by: day))))
        for secret in [raw, Array("0123456789abcdef".utf8), [0x01, 0x23, 0x45, 0x67, 0x89, 0xab]] {
            #expect(today.ranges(of: secret).isEmpty)
        }
        #expect(today[5..<13] != tomorrow[5..<13])
        #expect(today.prefix(5) == [0x44, 0x57, 0x50, 0x48, 1])
    }

    @Test func `no damaged, cut or lengthened datagram is read`() throws {
        let whole = try bytes(hint(hash: Data(repeating: 1, count: 32)))
        for index in whole.indices {
            for bit in 0..<8 {
                var damaged = whole
                damaged[index] ^= 1 << bit
                #expect(HintDatagram.decode(damaged, key, now: now) == nil, "byte \(index), bit \(bit)")
            }
        }
        for count in 0..<whole.count { #expect(HintDatagram.decode(Array(whole[..<count]), key, now: now) == nil) }
        #expect(HintDatagram.decode(whole + [0], key, now: now) == nil)
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<2000 {
            let count = Int.random(in: 0...600, using: &generator)
            let head = Bool.random(using: &generator) ? Array(whole[..<13]) : []
            let bytes = head + (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(HintDatagram.decode(bytes, key, now: now) == nil)
        }
    }

    @Test func `members that a later version adds at the end are passed over`() throws {
        let uuid = try #require(UUID(uuidString: device.description)).uuid
        var plain = withUnsafeBytes(of: uuid) { Array($0) }
        plain += [0, 0, 0, 0, 0, 0, 0, 42] + withUnsafeBytes(of: now.rawValue.bigEndian) { Array($0) }
        plain += [UInt8](repeating: 9, count: 32) + [1, 2, 3]
        let head = Array("DWPH".utf8) + [1] + key.tag(ofDay: now.rawValue / 86_400_000_000_000)
        let box = try #require(try AES.GCM.seal(plain, using: key.key, authenticating: head).combined)
        #expect(
            HintDatagram.decode(head + box, key, now: now) == hint(hash: Data(repeating: 9, count: 32)))
    }
}

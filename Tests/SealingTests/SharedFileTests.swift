import Crypto
import Foundation
import Remote
import SeededRandomness
import TestStores
import Testing

@testable import Sealing

/// Files that are shared by a link: what the link opens, and what the store sees of them.
@Suite struct SharedFileTests {
    private let base = MemoryStore()
    private let id = UUID()
    private let container = UUID()
    private let epochs: [UInt32: SymmetricKey] = [1: SymmetricKey(size: .bits256), 2: SymmetricKey(size: .bits256)]
    private let containerKey = SymmetricKey(size: .bits256)

    private var key: String { "shares/\(id.uuidString.lowercased())" }
    private var damaged: StoreError { StoreError(.corrupt, key: key) }

    /// As a device has it that knows the epochs up to one.
    private func store(epoch: UInt32 = 1) -> SealedStore {
        let keys = SealingKeys(
            container: container, epoch: epoch, epochKeys: epochs.filter { $0.key <= epoch },
            containerKey: containerKey)
        return SealedStore(base, keys: keys)
    }

    private static func bytes(_ count: Int) -> [UInt8] {
        var generator = SeededGenerator(seed: UInt64(count))
        return (0..<(count + 7) / 8).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } }.dropLast(
            (8 - count % 8) % 8)
    }

    private func request(_ name: String = "a.txt") -> ObjectLinkRequest {
        ObjectLinkRequest(.file(name: name), lifetime: .seconds(60))
    }

    private func link(_ name: String = "a.txt", epoch: UInt32 = 1) async throws -> String {
        try await store(epoch: epoch).link(to: key, for: request(name)).url
    }

    /// What somebody reads who has the link and the store's bytes.
    private func opened(_ link: String) async throws -> [UInt8] {
        let link = try ShareLink(parsing: link)
        #expect(link.bytesURL == "memory:\(key)?as=bytes")
        let reader = try await SharedFileReader(try await base.get(key, range: nil), key: link.key)
        let bytes = try await reader.bytes.collect(upTo: 1 << 30)
        #expect(reader.byteCount == Int64(bytes.count))
        return bytes
    }

    static let lengths = [0, 1, 65_535, 65_536, 65_537, 3_000_000]

    // MARK: Who has the link

    @Test(arguments: lengths) func `a shared file is opened with its link alone, and by devices`(length: Int)
        async throws
    {
        let bytes = Self.bytes(length)
        try await store().put(key, .bytes(bytes))
        #expect(try await opened(link()) == bytes)
        #expect(try await store().get(key, range: nil).collect(upTo: 1 << 30) == bytes)
    }

    @Test(arguments: [
        [], [0], [5], [1 << 20], [8 << 20, 65_536], [9 << 20, 3 << 20, 1], [20 << 20, 13 << 20, 70_000],
    ])
    func `a file that comes in parts is the same file`(lengths: [Int]) async throws {
        let bytes = Self.bytes(lengths.reduce(0, +))
        var start = 0
        let parts = lengths.map { length in
            let part = Array(bytes[start..<start + length])
            start += length
            return ObjectPart(byteCount: Int64(length), source: nil) { range throws(StoreError) in
                // As a part is read: whole chunks, or up to its end.
                guard range.lowerBound % (1 << 20) == 0, range.upperBound % (1 << 20) == 0 || range.upperBound == length
                else { throw StoreError(.invalid, key: "part") }
                return Array(part[Int(range.lowerBound)..<Int(range.upperBound)])
            }
        }
        try await store().assemble(key, from: parts)
        #expect(try await opened(link()) == bytes)
        #expect(try await store().get(key, range: nil).collect(upTo: 1 << 30) == bytes)
    }

    @Test(arguments: [0, 1, (8 << 20) - 1, 8 << 20, (8 << 20) + 1, 100 << 20, 70 << 30, 512 << 30] as [Int64])
    func `sealed parts are as a store wants them, few and long enough`(length: Int64) throws {
        let part = ObjectPart(byteCount: length, source: nil) { _ throws(StoreError) in [] }
        let keys = SealingKeys(container: container, epoch: 1, epochKeys: epochs, containerKey: containerKey)
        let sealed = try SealedParts([part], key: key, salt: Self.bytes(32), keys: keys).sealed
        let padded = Padding.padme.paddedByteCount(length)
        let layout = try #require(SealedLayout(byteCount: length, paddedByteCount: padded))
        #expect(sealed.reduce(0) { $0 + $1.byteCount } == layout.sealedByteCount)
        #expect(sealed.count <= 10_000)
        #expect(sealed.dropLast().allSatisfy { $0.byteCount >= ObjectPart.leastByteCount })
        // Three are in memory at a time.
        #expect(sealed.allSatisfy { $0.byteCount <= max(9 << 20, length / 8500) })
    }

    @Test func `parts that do not end at whole MiB are refused, and what is no share is not assembled`() async throws {
        let part = ObjectPart(byteCount: 5, source: nil) { _ throws(StoreError) in [1, 2, 3, 4, 5] }
        await #expect(throws: StoreError(.invalid, key: key)) { try await store().assemble(key, from: [part, part]) }
        await #expect(throws: StoreError(.invalid, key: "packs/a")) {
            try await store().assemble("packs/a", from: [part])
        }
        let short = ObjectPart(byteCount: 5, source: nil) { _ throws(StoreError) in [1] }
        await #expect(throws: damaged) { try await store().assemble(key, from: [short]) }
    }

    @Test func `the link is the same from each device, and in later epochs`() async throws {
        try await store().put(key, .bytes([1, 2, 3]))
        #expect(try await link() == link(epoch: 2))
        #expect(try await opened(link(epoch: 2)) == [1, 2, 3])
        // A device that was revoked before the file was shared gets nowhere.
        try await store(epoch: 2).put(key, .bytes([4]))
        await #expect(throws: damaged) { _ = try await link(epoch: 1) }
        #expect(try await opened(link(epoch: 2)) == [4])
    }

    @Test func `the keys of two shares, and of one name in two containers, differ`() throws {
        let epochKey = SymmetricKey(size: .bits256)
        let keys = [(id, container), (UUID(), container), (id, UUID())].map {
            ShareKey(of: $0.0, container: $0.1, epochKey: epochKey).text
        }
        #expect(Set(keys).count == 3)
    }

    /// Computed with Python's hmac, from the page "The container format".
    @Test func `key and commitment are those of the format`() throws {
        let (container, id) = try (
            #require(UUID(uuidString: "00000000-0000-0000-0000-0000000000c0")),
            #require(UUID(uuidString: "00000000-0000-0000-0000-00000000005a"))
        )
        let keys = SealingKeys(
            container: container, epoch: 1, epochKeys: [1: SymmetricKey(data: Array(0..<32 as Range<UInt8>))],
            containerKey: containerKey)
        let share = ShareKey(of: id, container: container, epochKey: try #require(keys.epochKeys[1]))
        #expect(share.text == "3tN49i61UKmkkwbcbvTEhECYJn50t2MsqYK0fQPfijU")
        let header = try SealedHeader(
            key: "shares/00000000-0000-0000-0000-00000000005a", byteCount: 0, salt: [UInt8](repeating: 7, count: 32),
            keys: keys)
        #expect(
            HiddenName.hex(header.bytes[44..<76])
                == "89346f306726a4d1bcc9f9e0278956a6d0eb2e6552862867e102551ca10bccc2")
    }

    // MARK: The store as an enemy

    @Test(arguments: lengths) func `a copy with another bit, cut or continued is refused`(length: Int) async throws {
        try await store().put(key, .bytes(Self.bytes(length)))
        let good = try #require(base.object(at: key))
        let link = try await link()
        var wrong: [[UInt8]] = [[], Array(good.dropLast()), good + [0], good + good, Array(good.dropFirst())]
        for place in stride(from: 0, to: good.count, by: max(1, good.count / 60)) {
            // The epoch is not for who has the link.
            guard !(8..<12).contains(place) else { continue }
            var bad = good
            bad[place] ^= UInt8(1) << UInt8(place % 8)
            wrong += [bad, Array(good.prefix(place))]
        }
        for bad in wrong {
            try await base.put(key, .bytes(bad))
            await #expect(throws: damaged, "\(bad.count) of \(good.count)") { _ = try await opened(link) }
        }
    }

    @Test func `another shared file is refused in the place of this one`() async throws {
        try await store().put(key, .bytes([1]))
        let link = try await link()
        let other = "shares/\(UUID().uuidString.lowercased())"
        try await store().put(other, .bytes([2]))
        try await base.put(key, .bytes(try #require(base.object(at: other))))
        await #expect(throws: damaged) { _ = try await opened(link) }
        await #expect(throws: damaged) { _ = try await self.link() }
        await #expect(throws: damaged) { _ = try await store().get(key, range: nil) }
    }

    @Test func `the store sees neither name nor key nor byte`() async throws {
        let text = Array(String(repeating: "a known sentence ", count: 100).utf8)
        try await store().put(key, .bytes(text))
        try await store().put(key + ".json", .bytes(Array("secret-name".utf8)))
        let link = try await link("secret-name.txt")
        let share = ShareKey(of: id, container: container, epochKey: try #require(epochs[1]))
        #expect(link.contains(share.text) && link.contains("secret-name.txt"))
        let marks = [
            Data("known sentence".utf8), Data("secret-name".utf8), Data(share.text.utf8),
            share.secret.key.withUnsafeBytes { Data($0) },
        ]
        let keys = try await base.list(prefix: "", after: nil, limit: 9).map(\.key)
        #expect(keys == [key, key + ".html", key + ".json"])
        for seen in keys {
            let object = Data(try #require(base.object(at: seen)))
            for mark in marks { #expect(object.range(of: mark) == nil && !seen.contains("secret")) }
        }
        // What the browser asks for.
        let sent = link.prefix { $0 != "#" }
        #expect(sent == "memory:\(key).html?as=page")
    }

    // MARK: The page

    @Test func `the page comes and goes with the bytes, is not shown, and is the same for all shares`() async throws {
        try await store().put(key, .bytes([1]))
        let other = "shares/\(UUID().uuidString.lowercased())"
        let part = ObjectPart(byteCount: 1, source: nil) { _ throws(StoreError) in [1] }
        try await store().assemble(other, from: [part])
        #expect(base.object(at: key + ".html") == SharePage.bytes)
        #expect(base.object(at: other + ".html") == SharePage.bytes)
        #expect(try await store().list(prefix: "", after: nil, limit: 9).map(\.key).sorted() == [key, other].sorted())
        try await store().delete(key)
        try await store().delete(other)
        #expect(try await base.list(prefix: "", after: nil, limit: 9).isEmpty)
    }

    @Test func `the page runs nothing but its own script, and asks no other server`() throws {
        let page = String(decoding: SharePage.bytes, as: UTF8.self)
        let policy = try #require(page.firstMatch(of: /Content-Security-Policy" content="([^"]*)"/)?.output.1)
        for (name, element) in [("script", /<script>([^\u{0}]*)<\/script>/), ("style", /<style>([^\u{0}]*)<\/style>/)] {
            let text = try #require(page.firstMatch(of: element)?.output.1)
            let hash = Data(SHA256.hash(data: Array(text.utf8))).base64EncodedString()
            #expect(policy.contains("\(name)-src 'sha256-\(hash)'"))
        }
        #expect(policy.hasPrefix("default-src 'none'; ") && policy.contains("connect-src 'self'; "))
        #expect(!page.contains("{{") && !page.contains("://"))
    }

    // MARK: The link

    @Test func `only shares have links, and only while they are whole`() async throws {
        for other in ["packs/a", key + ".json", "shares/1", key.uppercased()] {
            await #expect(throws: StoreError(.invalid, key: other)) {
                _ = try await store().link(to: other, for: request())
            }
        }
        await #expect(throws: StoreError(.notFound, key: key)) { _ = try await link() }
        try await base.put(key, .bytes([1]))
        await #expect(throws: damaged) { _ = try await link() }
    }

    @Test(arguments: ["a.txt", "", "Ü 1?#%&.pdf", "a.b.c", "e\u{301}", "\u{feff}x", "日本語"])
    func `a link is read as it was written`(name: String) throws {
        let key = ShareKey(of: id, container: container, epochKey: SymmetricKey(size: .bits256))
        let page = "https://h:1/b/shares/1.html?Date=d%2F1&Token=t%3D&as=page&Signature=abc"
        let bytes = "https://h:1/b/shares/1?Date=d%2F1&Token=t%3D&Signature=def"
        let text = try #require(ShareLink.text(page: page, bytes: bytes, key: key, fileName: name))
        #expect(text.hasPrefix(page + "#2.\(key.text)."))
        #expect(text.hasSuffix("?as=&Signature=def"))
        let link = try ShareLink(parsing: text)
        #expect(link.bytesURL == bytes && link.key.text == key.text)
        #expect(Array(link.fileName.utf8) == Array(name.utf8))
        #expect(ShareLink.text(page: page, bytes: "https://other/b/shares/1?x=1", key: key, fileName: name) == nil)
    }

    @Test func `what is no whole link is refused`() throws {
        let key = String(repeating: "A", count: 43)
        let page = "https://h/shares/1.html?X=1"
        #expect(try ShareLink(parsing: "\(page)#2.\(key).a?X=2").bytesURL == "https://h/shares/1?X=2")
        for plain in ["https://h/shares/1?X=1", "https://h/shares/1?X=1#", "https://h/a#chapter", ""] {
            #expect(throws: ShareLink.Fault.plain) { try ShareLink(parsing: plain) }
        }
        #expect(throws: ShareLink.Fault.otherVersion) { try ShareLink(parsing: "\(page)#3.\(key).a?X=2") }
        for bad in [
            "\(page)#2.", "\(page)#2.\(key)", "\(page)#2.\(key).a", "\(page)#2.\(key.dropLast()).a?X=2",
            "\(page)#2.\(key)A.a?X=2", "\(page)#2.\(key.dropLast())+.a?X=2", "\(page)#2.\(key).%zz?X=2",
            "https://h/shares/1.html#2.\(key).a?X=2", "https://h/shares/1?X=1#2.\(key).a?X=2",
            "\(page)#2.\(key).a b?X=2", "\(page)#2.\(key).ü?X=2",
            "\(page)#2.\(key).a?X=" + String(repeating: "2", count: 20_000),
        ] { #expect(throws: ShareLink.Fault.damaged, "\(bad.prefix(200))") { try ShareLink(parsing: bad) } }
    }
}

import Model
import Testing

@testable import Remote

@Suite struct StoreErrorTests {
    @Test(arguments: [
        (StoreError.Code.notFound, FileError.Code.notInContainer), (.preconditionFailed, .superseded),
        (.throttled, .unreachable),
        (.unavailable, .unreachable), (.denied, .denied), (.corrupt, .corrupt), (.full, .overQuota),
        (.invalid, .invalid),
        (.cancelled, .cancelled),
    ])
    func `each store error maps to a file error`(code: StoreError.Code, expected: FileError.Code) {
        let error = StoreError(code, key: "packs/1", "some detail").fileError
        #expect(error.code == expected)
        #expect(error.detail.contains("packs/1") && error.detail.contains("some detail"))
    }
}

@Suite struct GzipTests {
    @Test(arguments: [0, 1, 100, 65_536, 65_537, 3_000_000])
    func `compressed bytes round-trip`(count: Int) throws {
        let bytes = Samples.bytes(count)
        #expect(try Gzip.decompress(Gzip.compress(bytes), limit: count) == bytes)
    }

    @Test func `a truncated member is reported as damaged wherever it is cut`() throws {
        let packed = Gzip.compress(Array("The dew point is where vapour becomes water.".utf8))
        for count in 0..<packed.count {
            #expect(throws: Gzip.Failure.damaged) { _ = try Gzip.decompress(Array(packed.prefix(count)), limit: 1000) }
        }
    }

    @Test func `a wrong checksum and trailing bytes are reported as damaged`() {
        var packed = Gzip.compress([1, 2, 3])
        #expect(throws: Gzip.Failure.damaged) { _ = try Gzip.decompress(packed + [0], limit: 1000) }
        #expect(throws: Gzip.Failure.damaged) { _ = try Gzip.decompress(packed + packed, limit: 1000) }
        packed[packed.count - 6] ^= 1
        #expect(throws: Gzip.Failure.damaged) { _ = try Gzip.decompress(packed, limit: 1000) }
        #expect(throws: Gzip.Failure.damaged) { _ = try Gzip.decompress(Array("plain text".utf8), limit: 1000) }
    }

    @Test func `a decompression bomb is refused at the limit`() {
        let bomb = Gzip.compress([UInt8](repeating: 0, count: 50_000_000))
        #expect(bomb.count < 100_000)
        #expect(throws: Gzip.Failure.tooLong) { _ = try Gzip.decompress(bomb, limit: 1_000_000) }
    }

    @Test func `SHA-256 matches the test vector of the standard`() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(ChunkHash(hashing: Array("abc".utf8)).description == expected)
    }
}

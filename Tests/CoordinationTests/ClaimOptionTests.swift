import Coordination
import Model
import Testing

@Suite struct ClaimOptionTests {
    @Test func `options have the same raw values as Apple's`() throws {
        let reading: [ReadingOptions] = [
            .withoutChanges, .resolvesSymbolicLink, .immediatelyAvailableMetadataOnly, .forUploading,
        ]
        #expect(reading.map(\.rawValue) == [1, 2, 4, 8])
        #expect(WritingOption.allCases.map(\.rawValue) == [0, 1, 2, 4, 8, 16])
        #expect(try ReadingOptions(checking: 15) == ReadingOptions(rawValue: 15))
        for option in WritingOption.allCases { #expect(try WritingOption(checking: option.rawValue) == option) }
    }

    @Test func `unknown option bits are refused`() {
        #expect(throws: ClaimError.unknownOptions(16)) { try ReadingOptions(checking: 16) }
        #expect(throws: ClaimError.unknownOptions(65)) { try ReadingOptions(checking: 65) }
        #expect(throws: ClaimError.unknownOptions(32)) { try WritingOption(checking: 32) }
    }

    @Test(arguments: 0..<32 as Range<UInt>)
    func `more than one writing option is refused`(bits: UInt) {
        guard bits.nonzeroBitCount > 1 else { return }
        #expect(throws: ClaimError.severalWritingOptions(bits)) { try WritingOption(checking: bits) }
    }

    @Test(arguments: allKinds)
    func `a batch may not resolve symbolic links or replace items`(kind: AccessKind) throws {
        var stage = ClaimStage()
        let batch = claims(1, [(.read([]), stranger), (kind, document)], mode: .batch)
        let isRefused: Bool =
            switch kind {
            case .read(let options): options.contains(.resolvesSymbolicLink)
            case .write(let option): option == .forReplacing
            }
        if isRefused {
            #expect(throws: ClaimError.notForBatches(kind)) { try stage.request(batch) }
            #expect(stage.table.isEmpty)
        } else {
            try stage.hold(batch)
        }
    }

    @Test func `a call without items, with too many, or with an id in use is refused`() throws {
        var stage = ClaimStage {
            $0.claimsPerSet = 2
            $0.sets = 2
        }
        #expect(throws: ClaimError.noItems) { try stage.request(claims(1, [])) }
        let pair = (AccessKind.read([]), document)
        #expect(throws: ClaimError.tooMany) { try stage.request(claims(1, [pair, pair, pair])) }
        try stage.hold(claims(1, [pair, pair]))
        #expect(throws: ClaimError.idInUse(1)) { try stage.request(claims(1, [pair])) }
        try stage.hold(claims(2, [pair]))
        #expect(throws: ClaimError.tooMany) { try stage.request(claims(3, [pair])) }
    }
}

import Testing

@testable import dewpoint

@Suite struct QueryCommandTests {
    private static func failure(_ format: String) -> CommandFailure? {
        do throws(CommandFailure) {
            _ = try QueryCommand.parse(format)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a mistake in a predicate is marked at its position`() {
        let failure = Self.failure("kMDItemFSName IS 'a'")
        #expect(failure?.status == .usage)
        #expect(
            failure?.sentence
                == "predicate, character 15: unknown operator \"IS\": write for example ==, CONTAINS, BEGINSWITH, LIKE or IN"
        )
        #expect(failure?.log == ["kMDItemFSName IS 'a'", "              ^"])
    }

    @Test func `an unknown attribute is refused`() {
        let failure = Self.failure("TRUEPREDICATE OR size > 1")
        #expect(failure?.sentence == "predicate, character 18: unknown attribute \"size\"; see: dewpoint help query")
        #expect(failure?.log.last == "                 ^")
        #expect(Self.failure("kMDItemFSSize > 1 AND kMDItemFSName.length == 3") == nil)
    }
}

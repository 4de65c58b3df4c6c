import Testing

@testable import dewpoint

@Suite struct UsageTextTests {
    private func sentence(_ message: String, _ arguments: String...) -> String {
        UsageText.sentence(message, arguments: arguments, root: Dewpoint.self)
    }

    @Test func `a usage error names the help of its own command`() {
        #expect(
            sentence("Missing expected argument '<url>'", "mount")
                == "Missing expected argument '<url>'; see: dewpoint help mount")
        #expect(
            sentence("Missing expected argument '<id>'.", "container", "create", "file:///x")
                == "Missing expected argument '<id>'; see: dewpoint help container create")
        #expect(
            sentence("Unknown option '--forse'. Did you mean '--force'?", "versions", "--forse")
                == "Unknown option '--forse'. Did you mean '--force'? See: dewpoint help versions")
        #expect(sentence("Unknown option '--x'", "--x") == "Unknown option '--x'; see: dewpoint help")
    }

    @Test func `an unknown command is answered with the one that is most likely meant`() {
        #expect(
            sentence("", "mont", "a", "b") == "there is no command mont; did you mean mount? see: dewpoint help")
        #expect(
            sentence("", "container", "craete")
                == "`container` has no command craete; did you mean create? see: dewpoint help container")
        #expect(sentence("", "xyzzy") == "there is no command xyzzy; see: dewpoint help")
        // A former path, for the default subcommand.
        #expect(sentence("Unexpected argument", "trash", "a", "b").hasSuffix("; see: dewpoint help trash"))
    }
}

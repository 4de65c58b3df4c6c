import ArgumentParser
import ControlAPI
import ControlClient
import Model
import Testing

@testable import dewpoint

@Suite struct CoordinateCommandTests {
    private static func items(_ arguments: String...) throws -> [ClaimRequest.Item] {
        try CoordinateCommand.parse(arguments + ["--", "true"]).accesses.map { $0.access.item($0.path) }
    }

    @Test func `paths without an option are claimed for writing`() throws {
        #expect(try Self.items("a", "b c") == [.init("a", writing: "plain"), .init("b c", writing: "plain")])
    }

    @Test func `an option applies to the paths after it, up to the next option`() throws {
        let items = try Self.items("--moving", "a", "--replacing", "b", "--reading", "c", "d", "--purpose", "p", "e")
        #expect(
            items == [
                .init("c", reading: []), .init("d", reading: []), .init("e", writing: "plain"),
                .init("a", writing: "forMoving"), .init("b", writing: "forReplacing"),
            ])
    }

    @Test(arguments: [
        ("--writing", "plain"), ("--deleting", "forDeleting"), ("--moving", "forMoving"),
        ("--replacing", "forReplacing"), ("--merging", "forMerging"), ("--metadata", "contentIndependentMetadataOnly"),
    ])
    func `each kind of write claim has a command-line option`(option: String, name: String) throws {
        #expect(try Self.items(option, "a") == [.init("a", writing: name)])
    }

    @Test func `the command starts after the double dash and keeps its own options`() throws {
        let command = try CoordinateCommand.parse(
            ["--timeout", "1.5", "--purpose", "p", "--reading", "a", "--", "ls", "--timeout", "9", "--", "-l"])
        #expect(command.command == ["ls", "--timeout", "9", "--", "-l"])
        #expect(command.accesses.map(\.path) == ["a"])
        let request = command.request([.init("a", reading: [])])
        #expect(request.timeoutSeconds == 1.5)
        #expect(request.purpose == "p")
        #expect(request.items == [.init("a", reading: [])])
        #expect(command.waitForDownload == false)
    }

    @Test(arguments: [
        ["a"], ["a", "true"], ["--", "true"], ["--timeout", "0", "a", "--", "true"],
        ["--timeout", "604801", "a", "--", "true"], ["--timeout", "soon", "a", "--", "true"],
        ["--purpose", "", "a", "--", "true"], ["--reading", "--", "true"],
        ["a", "--timeout", "1", "--", "true"], ["a", "--"], ["--what", "a", "--", "true"],
    ])
    func `invalid command lines are rejected`(arguments: [String]) {
        #expect(throws: (any Error).self) { try CoordinateCommand.parse(arguments) }
    }

    @Test func `only read, write and merge claims need the bytes of an item`() {
        #expect(ItemAccess.allCases.filter(\.needsBytes) == [.reading, .writing, .merging])
    }

    private static func end(_ reason: ClaimEnded.Reason, _ code: FileError.Code) -> ClaimFailure {
        .ended(ClaimEnded(claim: 1, reason: reason, code: code, message: "why"))
    }

    static let failures: [(any Error, dewpoint.ExitStatus)] = [
        (end(.timedOut, .timedOut), .timedOut),
        (end(.presenter, .timedOut), .notGranted),
        (end(.deadlock, .deadlock), .notGranted),
        (ClaimFailure.refused(FileError(.invalid, "why")), .notGranted),
        (ClaimFailure.control(.daemonUnreachable("why")), .notGranted),
        (ControlError.refused(FileError(.notFound, "why")), .notGranted),
        (CommandFailure(.notFound, "why"), .notGranted),
        (CommandFailure(.noSuchCommand, "why"), .noSuchCommand),
        (CommandFailure(.notExecutable, "why"), .notExecutable),
    ]

    @Test(arguments: failures)
    func `the exit status tells why the command was not run`(error: any Error, status: dewpoint.ExitStatus) throws {
        let failure = try #require(CoordinateCommand.failure(error) as? CommandFailure)
        #expect(failure.status == status)
        #expect(!failure.sentence.isEmpty)
    }

    @Test func `the exit statuses match those of the timeout program`() {
        let statuses: [dewpoint.ExitStatus] = [.timedOut, .notGranted, .notExecutable, .noSuchCommand]
        #expect(statuses.map(\.rawValue) == [124, 125, 126, 127])
    }
}

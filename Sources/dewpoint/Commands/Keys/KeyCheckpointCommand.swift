import ArgumentParser
import Daemon
import Foundation
import Sealing

struct KeyCheckpointCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "checkpoint", abstract: "Shows the newest commit that this device has seen, in six words.",
        discussion: """
            Devices that have seen the same commit show the same words, and have seen the same history. Where the number is the same and \
            the words differ, the store shows the two devices two histories. A device that is behind shows a lower number: \
            dewpoint sync --wait brings it up to date, if the store does not keep anything back.
            """)

    @OptionGroup var place: KeyPlace

    @Flag(help: "Print JSON.")
    var json = false

    private struct Report: Encodable {
        let commit: UInt64
        let words: [String]
    }

    func run() async throws {
        let (location, state) = try await place.resolved()
        guard let state, let checkpoint = try state.checkpoint() else {
            throw CommandFailure(
                .notFound, "this device has seen no commit of an encrypted container at \(location.url); mount it first"
            )
        }
        if json { return try JSONOutput.print(Report(commit: checkpoint.number, words: checkpoint.words)) }
        print("commit \(checkpoint.number): \(checkpoint.words.joined(separator: "-"))")
    }
}

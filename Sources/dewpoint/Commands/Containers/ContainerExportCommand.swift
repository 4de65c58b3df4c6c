import ArgumentParser
import Daemon
import Model

struct ContainerExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Downloads the whole tree of a container to a directory, without mounting it.",
        discussion: """
            Exports bytes, modes, times and extended attributes, and verifies every byte. Conflict versions are written next to their files, \
            as in: report (conflict sofa 2026-01-31 12.00.00).pdf. Items that cannot be exported are listed, the rest is \
            exported, and the exit status is 1. If an export is interrupted, remove what it left and export again.
            """)

    @Argument(help: "The container URL, as passed to `dewpoint container create`.")
    var container: String

    @Argument(help: "The target: a directory that does not exist, or is empty.", completion: .directory)
    var directory: String

    @OptionGroup var bucket: BucketOptions
    @OptionGroup var passphrase: PassphraseOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let location = try ContainerLocation(url: container, endpoint: bucket.endpoint, region: bucket.region)
        let path = try MountedPath.absolute(directory)
        TransferText.raiseDescriptorLimit()
        let session = try await TemporarySession(
            location, deviceName: MountPlan.hostName(), unlocking: passphrase.unlocking
        ) { problem in
            TransferText.report(problem)
        }
        let report = try await session.export(to: path)
        if json { try JSONOutput.print(report) } else { print(TransferText.text(report, verb: "exported")) }
        guard report.failedCount == 0 else {
            throw CommandFailure(.failed, "\(TransferText.count(report.failedCount, "item")) could not be exported")
        }
    }
}

import ArgumentParser
import Daemon
import Model

struct ContainerExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Rebuilds the whole tree of a container in a directory, without a mount.",
        discussion: """
            Files come with their bytes, modes, times and attributes; every byte is verified. The losers of conflicts stand beside their \
            files, as in: report (conflict sofa 2026-01-31 12.00.00).pdf. What cannot be had is named, and the rest is \
            exported; the exit status is 1 then. An export that was cut off leaves a part: remove it, and export again.
            """)

    @Argument(help: "The container, as given to: dewpoint container create.")
    var container: String

    @Argument(help: "A new directory, or an empty one.", completion: .directory)
    var directory: String

    @OptionGroup var bucket: BucketOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let location = try ContainerLocation(url: container, endpoint: bucket.endpoint, region: bucket.region)
        let path = try MountedPath.absolute(directory)
        TransferText.raiseDescriptorLimit()
        let visit = try await ContainerVisit(location, deviceName: MountCommand.hostName()) { problem in
            TransferText.tell(problem)
        }
        let report = try await visit.export(to: path)
        if json { try JSONOutput.print(report) } else { print(TransferText.text(report, verb: "exported")) }
        guard report.failedCount == 0 else {
            throw CommandFailure(.failed, "\(TransferText.count(report.failedCount, "item")) could not be exported")
        }
    }
}

import ArgumentParser
import Daemon

struct ContainerImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Uploads what is in a directory into a container, without a mount.",
        discussion: """
            Nothing in the container is overwritten: names that are there already are refused before anything is sent. What would \
            stay on its machine on a mount is skipped and named: .DS_Store and the like, device files, names that are not UTF-8. \
            Devices that have the container mounted see the items come. The directory stays as it is.
            """)

    @Argument(help: "What is in it is uploaded.", completion: .directory)
    var directory: String

    @Argument(help: "The container, as given to: dewpoint container create.")
    var container: String

    @OptionGroup var options: TransferOptions

    func run() async throws {
        TransferText.raiseDescriptorLimit()
        let path = try MountedPath.absolute(directory)
        let report = try await options.visit(container).importTree(
            path, into: options.into, isContinued: options.isContinued)
        try options.finish(report, verb: "imported")
    }
}

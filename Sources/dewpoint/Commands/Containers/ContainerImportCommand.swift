import ArgumentParser
import Daemon

struct ContainerImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Uploads the contents of a directory to a container, without mounting it.",
        discussion: """
            Nothing in the container is overwritten: the import fails before it uploads anything if a name is taken. Files that are never \
            synced are skipped and listed: .DS_Store and similar, device files, names that are not UTF-8. Mounted devices see the \
            items appear. The directory is not changed.
            """)

    @Argument(help: "The directory whose contents are uploaded.", completion: .directory)
    var directory: String

    @Argument(help: "The container URL, as passed to `dewpoint container create`.")
    var container: String

    @OptionGroup var options: TransferOptions

    func run() async throws {
        TransferText.raiseDescriptorLimit()
        let path = try MountedPath.absolute(directory)
        let report = try await options.session(container).importTree(
            path, into: options.into, isContinued: options.isContinued)
        try options.finish(report, verb: "imported")
    }
}

import ArgumentParser
import Daemon

struct ContainerAdoptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Makes objects that are in the bucket already items of a container, without copying them.",
        discussion: """
            Each object below the prefix becomes a file whose bytes stay in that object; slashes make directories. Objects are read once, \
            for their hashes, and never changed or deleted, whatever becomes of the items. From then on they must stay as they \
            are: what is changed or deleted there cannot be read any more in the container. Nothing in the container is \
            overwritten: names that are there already are refused before anything is read.
            """)

    @Argument(help: "The container: s3://BUCKET/PREFIX, as given to: dewpoint container create.")
    var container: String

    @Argument(help: "Where the objects are: s3://BUCKET/PREFIX in the same bucket, beside the container.")
    var source: String

    @OptionGroup var options: TransferOptions

    func run() async throws {
        let report = try await options.visit(container).adopt(
            source, into: options.into, isContinued: options.isContinued)
        try options.finish(report, verb: "adopted")
    }
}

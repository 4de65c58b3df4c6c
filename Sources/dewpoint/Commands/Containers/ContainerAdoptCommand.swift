import ArgumentParser
import Daemon

struct ContainerAdoptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Adds existing objects of a bucket to a container, without copying them.",
        discussion: """
            Each object below the prefix becomes a file whose bytes stay in that object; slashes become directories. Objects are read once, \
            to compute their hashes, and never changed or deleted, even if the items are. Do not change or delete them afterwards: \
            the items could not be read any more. Nothing in the container is overwritten: the command fails before it reads \
            anything if a name is taken.
            """)

    @Argument(help: "The container URL, s3://BUCKET/PREFIX, as passed to `dewpoint container create`.")
    var container: String

    @Argument(help: "The objects: s3://BUCKET/PREFIX in the same bucket, outside the container.")
    var source: String

    @OptionGroup var options: TransferOptions

    func run() async throws {
        let report = try await options.session(container).adopt(
            source, into: options.into, isContinued: options.isContinued)
        try options.finish(report, verb: "adopted")
    }
}

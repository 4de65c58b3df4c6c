import ArgumentParser
import Daemon
import Model

struct ContainerImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Uploads a directory, or a remote of rclone, to a container, without mounting it.",
        usage: """
            dewpoint container import [<options>] <directory> <container>
            dewpoint container import [<options>] --from rclone:<remote>:<path> <container>
            """,
        discussion: """
            Nothing in the container is overwritten: the import of a directory fails before it uploads anything if a name is taken. Files that are \
            never synced are skipped and listed: .DS_Store and similar, device files, names that are not UTF-8. Mounted devices \
            see the items appear. The source is not changed.

            With --from, files come from Nextcloud, OneDrive, Google Drive or another store that rclone (https://rclone.org) reads. \
            Such an import may be repeated: it uploads what is new or changed at the remote. A file that was edited in the \
            container is kept and listed, and nothing is deleted.
            """)

    @Argument(help: "The directory whose contents are uploaded; none with --from.", completion: .directory)
    var directory: String?

    @Argument(help: "The container URL, as passed to `dewpoint container create`.")
    var container: String?

    @Option(
        help: ArgumentHelp(
            "Upload this directory of a remote that rclone is configured for.", valueName: "rclone:remote:path"))
    var from: String?

    @Flag(help: "With --from: upload nothing, and print what would be uploaded.")
    var dryRun = false

    @OptionGroup var options: TransferOptions

    func validate() throws {
        switch (from, directory, container) {
        case (.some, .some, .none), (.none, .some, .some): break
        case (.some, _, .some):
            throw ValidationError("give either a directory or --from, and then the container")
        case (.some, .none, .none), (.none, .some, .none):
            throw ValidationError("give the directory, or --from, and then the container")
        case (.none, .none, _): throw ValidationError("give the directory and then the container")
        }
        if dryRun, from == nil { throw ValidationError("--dry-run needs --from") }
    }

    func run() async throws {
        TransferText.raiseDescriptorLimit()
        if let from {
            try await importRemote(try RcloneRemote(from), to: directory ?? "")
        } else {
            try await importDirectory(directory ?? "", to: container ?? "")
        }
    }

    private func importDirectory(_ directory: String, to container: String) async throws {
        let path = try MountedPath.absolute(directory)
        let report = try await options.session(container).importTree(
            path, into: options.into, isContinued: options.isContinued)
        try options.finish(report, verb: "imported")
    }

    private func importRemote(_ remote: RcloneRemote, to container: String) async throws {
        let session = try await options.session(container) { TransferText.reportBesideProgress($0) }
        let progress = TransferProgress()
        let (into, isDryRun) = (options.into, dryRun)
        let report = try await ProgressDisplay.during(remote.string, noun: "file") {
            try await session.importRemote(remote, into: into, isDryRun: isDryRun, progress: progress)
        } progress: {
            progress.current
        }
        try options.finish(
            report, verb: isDryRun ? "would be imported" : "imported", retry: "to retry them, run the import again")
    }
}

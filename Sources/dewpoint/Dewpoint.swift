import ArgumentParser
import Daemon
import Foundation
import Model
import Mount

@main
struct Dewpoint: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dewpoint",
        abstract: "Mounts a cloud container at a path. Every item is listed; its bytes are downloaded when it is read.",
        discussion: """
            dewpoint container create file:///srv/cloud/Notes --id iCloud.com.example.Notes
            dewpoint mount file:///srv/cloud/Notes /mnt/notes

            Exit status: 0 success, 1 failure, 64 wrong usage, 65 check found problems, 66 no such container or path, \
            69 the daemon or the store does not answer, 73 cannot create, 75 busy, 77 no permission. coordinate and \
            no-download exit with the status of their command; see: dewpoint help coordinate
            """,
        version: Release.version,
        subcommands: [
            ContainerCommand.self, MountCommand.self, UnmountCommand.self, AddCommand.self, ListCommand.self,
            RemoveCommand.self, EditCommand.self, StatusCommand.self, QuotaCommand.self, WhyCommand.self,
            QueryCommand.self,
            DownloadCommand.self,
            EvictCommand.self, PinCommand.self, UnpinCommand.self, PreviewCommand.self, SyncCommand.self,
            PauseCommand.self,
            ResumeCommand.self, ConfirmCommand.self, VersionsCommand.self, ConflictsCommand.self, ResolveCommand.self,
            TrashCommand.self, ShareCommand.self, OpenShareCommand.self, KeyCommand.self,
            CoordinateCommand.self, NoDownloadCommand.self, AllowDownloadCommand.self, LocksCommand.self,
            MonitorCommand.self, DashboardCommand.self, CheckCommand.self, MoveStateCommand.self, LinkCommand.self,
            LogLevelCommand.self, UpgradeCommand.self, DiagnoseCommand.self, ResetCommand.self, RecoverCommand.self,
            TakeCommand.self,
        ])

    /// Runs the command; every failure is one sentence on standard error and a status of ``ExitStatus``.
    static func main() async {
        if CommandLine.arguments.count > 1, CommandLine.arguments[1] == AnnouncementHelper.argument {
            AnnouncementHelper(Array(CommandLine.arguments.dropFirst(2)))?.run()
            return
        }
        MemoryCopies.startAnew()
        PassphraseEnvironment.take()
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            let failure = CommandFailure(error) ?? usageFailure(error)
            failure.report()
            Foundation.exit(failure.status.rawValue)
        }
    }

    /// Exits if the argument parser threw to print help or the version.
    private static func usageFailure(_ error: any Error) -> CommandFailure {
        guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
        let arguments = Array(CommandLine.arguments.dropFirst())
        return CommandFailure(
            .usage, UsageText.sentence(message(for: error), arguments: arguments, root: Self.self))
    }
}

import ArgumentParser
import ControlAPI
import ControlClient
import Daemon
import Foundation
import Model

struct NoDownloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "no-download", abstract: "Runs a command whose reads never download anything.",
        discussion: """
            In all containers that are mounted now and that you can access, reads of files that are not downloaded \
            fail at once with EDEADLK, for the command and its child processes. Other programs are not affected. \
            Mounts of other users, whose daemons you may not query, are reported: reads there do download. Mounts \
            whose daemon has died are skipped.

            dewpoint no-download -- grep -r invoice .

            Exit status: that of the command; 125 if a daemon does not answer; 126 if the command cannot be run; 127 if it is not found.
            """)

    @Argument(parsing: .captureForPassthrough, help: ArgumentHelp("The command, after --.", valueName: "command"))
    var words: [String] = []

    /// The command and its arguments.
    var command: [String] { words.first == "--" ? Array(words.dropFirst()) : words }

    func validate() throws {
        if !Set(["-h", "--help"]).isDisjoint(with: words.prefix(1)) { throw CleanExit.helpRequest(self) }
        if command.isEmpty { throw ValidationError("give the command to run after --") }
    }

    func run() async throws {
        // Before a connection is opened: the command must not inherit it.
        let inheritance = Inheritance()
        var sessions: [ControlSession] = []
        let status: Int32
        do {
            // The command cannot read mounts that only another user can enter: their daemons need not be asked, and
            // would not answer.
            let user = geteuid()
            for mount in MountTable.current().containers where mount.owner ?? user == user || mount.admitsOthers {
                if let session = try await Self.session(of: mount) { sessions.append(session) }
            }
            let child = try ChildProcess(command, environment: [:], inheritance: inheritance)
            status = await child.status()
        } catch {
            throw CoordinateCommand.failure(error)
        }
        for session in sessions { await session.close() }
        Foundation.exit(status)
    }

    /// - Returns: `nil` if nothing can be read there, or the daemon may not be asked; the latter is reported.
    private static func session(of mount: MountTable.Entry) async throws -> ControlSession? {
        if case .foreign(let owner) = MountCondition.foreign(mount) {
            CommandFailure.say(
                "\(mount.mountpoint) belongs to \(TrustedPath.name(ofUser: owner)); you have no access to its daemon, "
                    + "so reads there do download")
            return nil
        }
        do throws(ControlError) {
            return try await ControlSession.open(
                socketPath: try MountedPath.socket(of: mount).path, withholdsDownloads: true)
        } catch {
            guard case .daemonUnreachable = error, case .dead = MountCondition(unanswering: mount) else { throw error }
            return nil
        }
    }
}

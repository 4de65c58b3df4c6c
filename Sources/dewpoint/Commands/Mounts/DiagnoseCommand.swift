import ArgumentParser
import Daemon
import Foundation
import Model

struct DiagnoseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diagnose", abstract: "Collects what a developer needs to examine a problem into one archive.",
        discussion: """
            The archive has the version of Dewpoint, the system, the mount's options, status, locks and metrics, what `dewpoint check` \
            finds, and the end of the log. It has no keys, and no bytes of files. Names of files, directories, devices, buckets \
            and programs are replaced by pseudonyms; in the log, every word that is not Dewpoint's own. Read it before you \
            send it: a name that consists only of numbers or of words of Dewpoint's messages stays.

            dewpoint diagnose /mnt/notes
            tar -tzf dewpoint-diagnosis-2026-01-31T12.00.00.tar.gz
            """)

    @Argument(help: "The mountpoint. (default: that of the current directory, or the only one)", completion: .directory)
    var mountpoint: String?

    @Option(
        help: "The state directory of a container that is not mounted, for its log.", completion: .directory)
    var state: String?

    @Flag(help: "Keep names of files, devices and programs.")
    var names = false

    @Option(
        name: .shortAndLong, help: "The archive to write. (default: dewpoint-diagnosis-TIME.tar.gz here)",
        completion: .file())
    var output: String?

    @Flag(help: "Print a JSON object.")
    var json = false

    private struct Report: Encodable {
        var archive: String
        var files: [String]
    }

    func validate() throws {
        if mountpoint != nil, state != nil { throw ValidationError("give a mountpoint or --state, not both") }
    }

    func run() async throws {
        let subject: Diagnosis.Subject =
            if let state {
                .state(try StateDirectory(given: state, resolved: try MountedPath.absolute(state)))
            } else {
                .mount(try MountedPath.mount(mountpoint))
            }
        let archive = try createArchive()
        var diagnosis = Diagnosis(
            subject,
            redaction: Redaction(keepsNames: names, environment: ProcessInfo.processInfo.environment))
        do {
            try await diagnosis.collect()
            try await diagnosis.write(to: archive)
        } catch {
            archive.discard()
            throw error
        }
        let report = Report(archive: archive.path, files: diagnosis.files.map(\.name).sorted())
        if json { return try JSONOutput.print(report) }
        print("\(archive.path.printable): \(report.files.joined(separator: ", "))")
        print(
            names
                ? "It has names of files, and no keys."
                : "It has no keys and no names of files; read it before you send it.")
    }

    /// How many archives get a name of their own within one second.
    private static let nameLimit = 99

    private func createArchive() throws -> DiagnosisArchive {
        if let output {
            if let archive = try DiagnosisArchive(creating: output) { return archive }
            throw CommandFailure(.cannotCreate, "\(output) exists already; choose another --output")
        }
        let name = "dewpoint-diagnosis-\(Self.stamp())"
        for number in 1...Self.nameLimit {
            let end = number == 1 ? "" : "-\(number)"
            if let archive = try DiagnosisArchive(creating: "\(name)\(end).tar.gz") { return archive }
        }
        throw CommandFailure(.cannotCreate, "all names for an archive are taken here; choose one with --output")
    }

    private static func stamp() -> String {
        Date.now.formatted(.iso8601.timeSeparator(.omitted)).replacing("Z", with: "")
    }
}

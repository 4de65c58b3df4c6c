import ArgumentParser
import ControlAPI
import Model

struct ContainerGarbageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gc", abstract: "Deletes unreferenced objects from a container.",
        discussion: """
            Packs that nothing has referred to for 30 days are condemned: no device refers to them again. A later run deletes them when \
            the grace period is over. Old snapshots, and the part of the log that they replace, are deleted as well. It is safe to run \
            this at any time and on any device, and to interrupt it.
            """)

    @Argument(help: "The mountpoint of the container.", completion: .directory)
    var mountpoint: String

    @Option(
        help: ArgumentHelp(
            "How long condemned objects stay readable for devices that are behind: a number with s, m, h or d. (default: 7d)",
            valueName: "time"))
    var grace: GracePeriod?

    @Flag(help: "Show what would be deleted, and delete nothing.")
    var dryRun = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let report = try await MountedPath.mountpoint(mountpoint).send(
            GarbageRequest(graceSeconds: grace?.seconds, dryRun: dryRun))
        if json { try JSONOutput.print(report) } else { print(GarbageText.text(report)) }
    }
}

/// `--grace`: `7d`, `12h`, `0s`.
struct GracePeriod: ExpressibleByArgument {
    let seconds: Int64

    init?(argument: String) {
        guard let period = TimePeriod(argument), period.seconds <= GarbageRequest.graceLimitSeconds else { return nil }
        seconds = period.seconds
    }
}

/// A report for people.
enum GarbageText {
    static func text(_ report: GarbageReport) -> String {
        let will = report.isDryRun ? "would be " : ""
        return """
            \(will)condemned: \(count(report.condemnedCount, "object")), \(ByteCount(report.condemnedByteCount))
            \(will)deleted: \(count(report.sweptCount, "object")), \(ByteCount(report.sweptByteCount))
            \(will)deleted: \(count(report.deletedSnapshotCount, "snapshot"))
            \(will)deleted: \(count(report.deletedShareCount ?? 0, "expired share"))
            \(will)trimmed: \(count(report.trimmedCommitCount, "commit"))
            """
    }

    private static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}

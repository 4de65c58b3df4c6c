import ArgumentParser
import Daemon
import Model

/// The common options of import and adopt.
struct TransferOptions: ParsableArguments {
    @OptionGroup var bucket: BucketOptions
    @OptionGroup var passphrase: PassphraseOptions

    @Option(
        help: ArgumentHelp(
            "The target directory in the container; created if missing. (default: the root)", valueName: "path"))
    var into = ""

    @Flag(
        name: .customLong("continue"),
        help: "Continue an interrupted run: skip files that exist with the same bytes, and merge directories.")
    var isContinued = false

    @Option(help: "The device name that other devices see. (default: the host name)")
    var deviceName: String?

    @Flag(help: "Print JSON.")
    var json = false

    /// - Parameter report: Called with items that are left out.
    func session(
        _ url: String, report: @escaping @Sendable (TransferProblem) -> Void = { TransferText.report($0) }
    ) async throws -> TemporarySession {
        let name = deviceName ?? MountPlan.hostName()
        guard 1...MountPlan.deviceNameByteLimit ~= name.utf8.count else {
            throw CommandFailure(
                .usage, "the device name must have 1 to \(MountPlan.deviceNameByteLimit) bytes")
        }
        let location = try ContainerLocation(url: url, endpoint: bucket.endpoint, region: bucket.region)
        return try await TemporarySession(
            location, deviceName: name, unlocking: passphrase.unlocking, notify: report)
    }

    /// Prints the result.
    ///
    /// - Parameter retry: What to do about items that failed.
    /// - Throws: If any item failed.
    func finish(_ report: TransferReport, verb: String, retry: String = "to retry them, add --continue") throws {
        if json { try JSONOutput.print(report) } else { print(TransferText.text(report, verb: verb)) }
        guard report.failedCount == 0 else {
            throw CommandFailure(
                .failed,
                "\(TransferText.count(report.failedCount, "item")) could not be \(verb); \(retry)")
        }
    }
}

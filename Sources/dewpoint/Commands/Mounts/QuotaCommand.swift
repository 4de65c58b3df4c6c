import ArgumentParser
import ControlAPI
import Model

struct QuotaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quota", abstract: "Shows how much of a container's quota is used.",
        discussion: """
            A file that is larger than the rest of the quota stays on this device with the error 4354, and is uploaded when there \
            is room: after something was deleted on any device, or with a larger quota. See: dewpoint help container quota
            """)

    @Argument(
        help: "An item in a mounted container. (default: the container of the current directory, or the only one)",
        completion: .file())
    var path: String?

    @Flag(help: "Print a JSON object, in bytes.")
    var json = false

    func run() async throws {
        let place = try path.map { try MountedPath($0) } ?? MountedPath.likeliest()
        let status = try await place.send(ContainerStatusRequest())
        guard let quota = status.quota else {
            throw CommandFailure(.failed, "the daemon of \(status.mountpoint) is of an older version: mount it again")
        }
        if json { try JSONOutput.print(quota) } else { print(QuotaText.text(quota, remote: status.remote)) }
    }
}

/// A quota for people.
enum QuotaText {
    /// Three lines: what is used, the total, and what remains.
    static func text(_ quota: QuotaStatus, remote: String) -> String {
        let used = ("used", amount(quota.used))
        guard let total = quota.total else {
            return
                (TotalsText.lines([used]) + [
                    "the container has no quota; to set one, run: dewpoint container quota \(remote.printable) SIZE"
                ]).joined(separator: "\n")
        }
        return TotalsText.lines([used, ("total", amount(total)), ("remaining", amount(max(0, total - quota.used)))])
            .joined(separator: "\n")
    }

    /// `48.1 GiB of 50.0 GiB used, 1.9 GiB left`; `nil` without a quota.
    static func line(_ quota: QuotaStatus) -> String? {
        quota.total.map { total in
            "\(ByteCount(quota.used)) of \(ByteCount(total)) used, \(ByteCount(max(0, total - quota.used))) left"
        }
    }

    private static func amount(_ byteCount: Int64) -> String { "\(ByteCount(byteCount)) (\(byteCount) bytes)" }
}

import ArgumentParser
import Daemon
import Model

struct ContainerQuotaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quota", abstract: "Prints or sets how many bytes the files of a container may have.",
        discussion: """
            Files and conflict versions count with their sizes. What is larger than the rest of the quota stays on its device until \
            there is room: see dewpoint help quota. Mounts notice another quota within six minutes, and what waits for room goes at once with: \
            dewpoint sync MOUNTPOINT

            dewpoint container quota file:///srv/cloud/Notes 50G
            dewpoint container quota file:///srv/cloud/Notes none
            """)

    @Argument(help: "The URL: s3://BUCKET/PREFIX or file:///path/to/directory.")
    var url: String

    @Argument(
        help: "The new quota, a whole number of bytes or with K, M, G, T or P, or none. (default: print the quota)")
    var size: String?

    @OptionGroup var bucket: BucketOptions
    @OptionGroup var passphrase: PassphraseOptions

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let location = try ContainerLocation(url: url, endpoint: bucket.endpoint, region: bucket.region)
        let identity =
            if let size {
                try await RemoteContainer.setQuota(
                    size == "none" ? nil : ContainerQuota(argument: size), at: location,
                    unlocking: passphrase.unlocking)
            } else {
                try await RemoteContainer.open(location, unlocking: passphrase.unlocking).identity
            }
        let quota = identity.settings.quota
        if json { return try JSONOutput.print(Report(container: identity.id, quota: quota)) }
        print("\(identity.id): \(quota.map { "\($0) (\($0.byteCount) bytes)" } ?? "no quota")")
    }

    private struct Report: Encodable {
        let container: ContainerIdentifier
        /// In bytes; absent for none.
        let quota: ContainerQuota?
    }
}

extension ContainerQuota {
    /// - Throws: ``CommandFailure`` with `usage`, and what is allowed.
    init(argument: String) throws(CommandFailure) {
        guard let quota = ContainerQuota(argument) else {
            throw CommandFailure(
                .usage,
                "\(argument) is not a quota: write a whole number of bytes from 1 to 4096P, with K, M, G, T or P, as in 50G"
            )
        }
        self = quota
    }
}

import ArgumentParser
import Daemon
import Foundation
import Linux
import Model
import Remote
import Sealing

struct ContainerCopyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy", abstract: "Copies a container to another place: encrypted, or plain.",
        discussion: """
            Copies everything, history, versions and trash included, reads back what it has written, and checks that what the files need is \
            there; if not, the exit status is 65. A copy that was interrupted is \
            continued by the same command. What devices write into the source meanwhile is copied as well, up to the end of the command: \
            unmount it everywhere before, or make the old place unwritable. The copy is the same container, so a device that mounts it keeps \
            what is local.

            dewpoint container copy s3://my-notes/work s3://my-notes/safe --encrypt
            """)

    @Argument(help: "The URL of the container.")
    var source: String

    @Argument(help: "The URL of an empty place, or of a copy that was interrupted.")
    var target: String

    @OptionGroup var bucket: BucketOptions

    @Option(
        help: ArgumentHelp(
            "The URL of the target's service. (default: --endpoint, if the target is a bucket)", valueName: "url"))
    var targetEndpoint: String?

    @Option(help: "The region of the target. (default: --region, if the target is a bucket)")
    var targetRegion: String?

    @Flag(help: "Encrypt the copy.")
    var encrypt = false

    @OptionGroup var passphrase: PassphraseOptions

    @Option(
        help: ArgumentHelp(
            "A file whose first line is the passphrase of the encrypted copy. (default: a prompt)", valueName: "file"),
        completion: .file())
    var newPassphraseFile: String?

    @OptionGroup var recovery: RecoveryCodeOptions

    @Flag(help: "Print JSON.")
    var json = false

    /// How many problems are listed; the others are only counted: 1000.
    private static let problemLimit = 1000

    func validate() throws {
        if !encrypt, newPassphraseFile != nil || recovery.recoveryFile != nil {
            throw ValidationError("--new-passphrase-file and --recovery-file are for --encrypt")
        }
    }

    func run() async throws {
        CoreDumps.forbid()
        let isBucket = !target.lowercased().hasPrefix("file:")
        let from = try ContainerLocation(
            url: source, endpoint: source.lowercased().hasPrefix("file:") ? nil : bucket.endpoint,
            region: source.lowercased().hasPrefix("file:") ? nil : bucket.region)
        let to = try ContainerLocation(
            url: target, endpoint: targetEndpoint ?? (isBucket ? bucket.endpoint : nil),
            region: targetRegion ?? (isBucket ? bucket.region : nil))
        var new = PassphraseOptions()
        new.passphraseFile = newPassphraseFile
        var pending: PendingRecoveryCode?
        let session: CopySession
        do {
            session = try await CopySession(
                from: from, unlocking: passphrase.unlocking, to: to,
                targetUnlocking: new.unlocking(isExpected: encrypt)
            ) {
                guard encrypt else { return .plain }
                let words = try new.newPassphrase(takesEnvironment: false)
                let code = try recovery.prepare(takingUp: true)
                pending = code
                return .encrypted(passphrase: words, recovery: code.code, deviceName: MountPlan.hostName())
            } whenCreated: {
                try pending?.giveOut()
                pending = nil
            }
        } catch {
            pending?.discard(after: error)
            throw explained(error)
        }
        let (report, problems) = try await session.run(deviceName: MountPlan.hostName())
        if json {
            try JSONOutput.print(report)
        } else {
            print(
                "copied: \(TransferText.count(report.objectCount, "object")) with \(ByteCount(report.byteCount))"
                    + (report.presentCount > 0 ? ", \(report.presentCount) already present" : "")
                    + ", up to commit \(report.commit)")
        }
        if problems.isEmpty { return }
        throw CommandFailure(
            .disagreement,
            "\(source) is incomplete, and so is the copy: \(TransferText.count(problems.count, "problem"))",
            log: Array(problems.prefix(Self.problemLimit)))
    }
}

extension ContainerCopyCommand {
    /// Who gives the passphrase of a plain source may mean that of the copy.
    private func explained(_ error: any Error) -> any Error {
        guard encrypt, passphrase.passphraseFile != nil, newPassphraseFile == nil, let refusal = error as? DaemonError,
            refusal.kind == .usage
        else { return error }
        return DaemonError(
            .usage, "\(refusal.description); the passphrase of the copy is given with --new-passphrase-file")
    }
}

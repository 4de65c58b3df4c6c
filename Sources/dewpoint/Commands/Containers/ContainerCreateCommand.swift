import ArgumentParser
import Daemon
import Foundation
import Linux
import Model
import Sealing

struct ContainerCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Creates an empty container.",
        discussion: """
            Credentials are looked up as the AWS tools do: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws/credentials with \
            AWS_PROFILE, or the role of the Linux container or the machine.

            With --encrypt, whoever has the bucket learns how many objects there are, how long they are and when they change, and neither \
            names nor bytes. The passphrase is asked for, this device is enrolled, and a recovery code is shown, for the day on which the \
            passphrase is lost. Without both, and without an enrolled device, nobody can read the container any more.
            """)

    @Argument(
        help:
            "The URL: s3://BUCKET/PREFIX in an existing bucket, or file:///path/to/directory, which is created if missing."
    )
    var url: String

    @OptionGroup var bucket: BucketOptions

    @Option(help: "The identifier: iCloud. followed by letters, digits, - and dots, as in iCloud.com.example.Notes.")
    var id: String

    @Option(help: "The display name. (default: the last part of the identifier)")
    var name: String?

    @Option(help: "How deep directories may nest below Documents: \(FolderLevels.choices).")
    var folderLevels = FolderLevels.any

    @Option(help: ArgumentHelp("Whether Documents is shown to the user.", valueName: "true|false"))
    var documentScopePublic = false

    @Option(
        help: ArgumentHelp(
            "How many bytes its files may have in all: a whole number, with K, M, G, T or P, as in 50G. (default: any)",
            valueName: "size"))
    var quota: String?

    @Flag(help: "Encrypt everything in the container, names included.")
    var encrypt = false

    @OptionGroup var passphrase: PassphraseOptions
    @OptionGroup var recovery: RecoveryCodeOptions

    /// The longest name of a container in bytes.
    private static let nameByteLimit = 255

    @Flag(help: "Print JSON.")
    var json = false

    private struct Created: Encodable {
        var id: String
        var url: String
        var uuid: String
        var encrypted: Bool
    }

    func validate() throws {
        if !encrypt, passphrase.passphraseFile != nil || recovery.recoveryFile != nil {
            throw ValidationError("--passphrase-file and --recovery-file are for --encrypt")
        }
    }

    func run() async throws {
        let identifier = try ContainerIdentifier(argument: id)
        let name = name ?? ContainerIdentity.defaultName(of: identifier)
        guard 1...Self.nameByteLimit ~= name.utf8.count else {
            throw CommandFailure(.usage, "the name must have 1 to \(Self.nameByteLimit) bytes")
        }
        let quota = try quota.map { try ContainerQuota(argument: $0) }
        let identity = ContainerIdentity(
            new: identifier,
            settings: .init(
                name: name, documentScopePublic: documentScopePublic, folderLevels: folderLevels.levels,
                quota: quota))
        let location = try ContainerLocation(url: url, endpoint: bucket.endpoint, region: bucket.region)
        if let directory = try MountPlaces.directory(of: url) {
            try MountPlaces.check(directory: directory, mounts: MountTable.current())
        }
        if encrypt {
            try await createEncrypted(identity, at: location)
        } else {
            try await RemoteContainer.create(at: location, identity: identity)
        }
        if json {
            return try JSONOutput.print(
                Created(id: id, url: url, uuid: identity.uuid.uuidString.lowercased(), encrypted: encrypt))
        }
        let command = ["dewpoint mount"] + location.options + [url, "MOUNTPOINT"]
        print(
            "\(id) is at \(url)\(encrypt ? ", encrypted" : ""); mount it with: \(command.joined(separator: " "))")
    }

    private func createEncrypted(_ identity: ContainerIdentity, at location: ContainerLocation) async throws {
        CoreDumps.forbid()
        let words = try passphrase.newPassphrase()
        let recovery = try recovery.prepare(takingUp: true)
        let memory: KeyringMemory
        do {
            memory = try await RemoteContainer.createEncrypted(
                at: location, identity: identity, passphrase: words, recovery: recovery.code,
                deviceName: MountPlan.hostName())
        } catch {
            recovery.discard(after: error)
            throw error
        }
        // Before anything else may fail: nobody knows it again.
        try recovery.giveOut()
        let state = StateDirectory(container: identity.id, environment: ProcessInfo.processInfo.environment)
        do throws(DaemonError) {
            try state.keep(memory, of: identity, at: location)
        } catch {
            CommandFailure.say(
                "this device cannot keep its keys, so the first mount asks for the passphrase: \(error.description)")
        }
    }
}

/// `--folder-levels`.
enum FolderLevels: String, ExpressibleByArgument, CaseIterable {
    case any, one, none

    static let choices = "any, one or none"

    var levels: ContainerIdentity.FolderLevels {
        switch self {
        case .any: .any
        case .one: .one
        case .none: .none
        }
    }
}

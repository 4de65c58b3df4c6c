import ArgumentParser
import Daemon
import Foundation
import Model

struct ContainerCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Creates an empty container.",
        discussion: """
            Credentials are looked up as the AWS tools do: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws/credentials with \
            AWS_PROFILE, or the role of the Linux container or the machine.
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

    /// The longest name of a container in bytes.
    private static let nameByteLimit = 255

    @Flag(help: "Print JSON.")
    var json = false

    private struct Created: Encodable {
        var id: String
        var url: String
        var uuid: String
    }

    func run() async throws {
        guard let identifier = ContainerIdentifier(id) else {
            throw CommandFailure(
                .usage,
                "\(id) is not an identifier: write iCloud., then letters, digits, - and dots, as in iCloud.com.example.Notes"
            )
        }
        let name = name ?? String(id.split(separator: ".").last ?? "")
        guard 1...Self.nameByteLimit ~= name.utf8.count else {
            throw CommandFailure(.usage, "the name must have 1 to \(Self.nameByteLimit) bytes")
        }
        let quota = try quota.map { try ContainerQuota(argument: $0) }
        let now = Date().timeIntervalSince1970
        let identity = ContainerIdentity(
            id: identifier, uuid: UUID(), created: Timestamp(seconds: Int64(now), nanoseconds: 0),
            settings: .init(
                name: name, documentScopePublic: documentScopePublic, folderLevels: folderLevels.levels,
                quota: quota))
        let location = try ContainerLocation(url: url, endpoint: bucket.endpoint, region: bucket.region)
        if let directory = try MountPlaces.directory(of: url) {
            try MountPlaces.check(directory: directory, mounts: MountTable.current())
        }
        try await RemoteContainer.create(at: location, identity: identity)
        if json {
            return try JSONOutput.print(Created(id: id, url: url, uuid: identity.uuid.uuidString.lowercased()))
        }
        let command = ["dewpoint mount"] + location.options + [url, "MOUNTPOINT"]
        print("\(id) is at \(url); mount it with: \(command.joined(separator: " "))")
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

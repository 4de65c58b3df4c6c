import ArgumentParser
import ControlAPI
import ControlClient
import Foundation
import Model

struct ShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share",
        abstract: "Makes a link with which anyone can download a file, lists the links, or ends one.",
        discussion: """
            The link leads to a copy of the bytes that the file has now: later changes do not show, and the other files of the container \
            stay out of reach. It works in every browser, without Dewpoint and without keys, for everyone who knows it, until its time is \
            over or it is revoked. Nothing is downloaded to make it. It needs a container in a bucket that the reader can reach.

            In an encrypted container the copy is encrypted, and what is behind the # of the link is its key, which the server never sees: \
            pass the link on as you would a password. It leads to a page that decrypts in the browser; see also: dewpoint help open-share
            """)

    @Argument(
        help: "A file in a mounted container; with --list or --revoke a mountpoint, if more than one is mounted.",
        completion: .file())
    var path: String?

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(
            "How long the link lasts: a number with s, m, h or d, at most 7d. (default: 7d)", valueName: "time"))
    var lifetime: String?

    @Flag(help: "List what is shared, by any device.")
    var list = false

    @Option(help: ArgumentHelp("End a share: its link leads nowhere from now on.", valueName: "id"))
    var revoke: String?

    @Flag(help: "Print JSON, with the links.")
    var json = false

    func validate() throws {
        if list, revoke != nil { throw ValidationError("--list cannot be used with --revoke") }
        if lifetime != nil, list || revoke != nil {
            throw ValidationError("--for cannot be used with \(list ? "--list" : "--revoke")")
        }
        if lifetime != nil, seconds == nil {
            throw ValidationError("--for takes 1s to 7d: a number with s, m, h or d, as in --for 12h")
        }
        if json, revoke != nil { throw ValidationError("--json cannot be used with --revoke") }
        if path == nil, !list, revoke == nil { throw ValidationError("give a file to share, or --list") }
    }

    func run() async throws {
        if list { return try await printList() }
        if let revoke {
            return try await MountedPath.mount(path).send(RevokeShareRequest(id: revoke))
        }
        guard let path, let seconds else { return }
        try await CommandFailure.forEach([path]) { try await share($0, seconds: seconds) }
    }

    /// `nil` when `--for` is out of range or no length of time.
    private var seconds: Int64? {
        guard let lifetime else { return SharedFile.lifetimeLimitSeconds }
        return TimePeriod(lifetime).map(\.seconds).flatMap {
            1...SharedFile.lifetimeLimitSeconds ~= $0 ? $0 : nil
        }
    }

    private func share(_ place: MountedPath, seconds: Int64) async throws {
        let file = try await place.withClient { client in
            // Its bytes must be in the container.
            if try await client.send(ItemStatusRequest(path: place.path)).isWaiting {
                try await UploadWait(place).run(client)
            }
            return try await client.send(ShareRequest(path: place.path, seconds: seconds))
        }
        if json { return try JSONOutput.print(file) }
        print(file.link ?? "")
        FileHandle.standardError.write(Data("\(ShareText.notice(file, given: place.given))\n".utf8))
    }

    private func printList() async throws {
        let place = try MountedPath.mount(path)
        let files = try await place.send(SharesRequest())
        if json { return try JSONOutput.print(files) }
        print(files.isEmpty ? "nothing is shared" : ShareText.table(files))
    }
}

extension ItemStatus {
    /// Whether its bytes are on their way to the container.
    fileprivate var isWaiting: Bool { kind == .file && isUbiquitousItem && !isUploaded }
}

/// Shares for people.
enum ShareText {
    /// Beside the link, which is alone on standard output so that it can be copied or piped.
    static func notice(_ file: SharedFile, given: String) -> String {
        let end = LocalTime.text(file.linkExpires ?? file.expires)
        let reason = endsEarly(file) ? ", when the credentials end that signed it" : ""
        // Behind the mark is the key.
        let key =
            file.link?.utf8.contains(UInt8(ascii: "#")) == true ? "\nits key is in the link: pass on all of it" : ""
        return """
            anyone with this link can download \(given.printable) (\(ByteCount(file.size))) until \(end)\(reason)\(key)
            to end it sooner: dewpoint share --revoke \(file.id)
            """
    }

    /// The link's time has no fractions of a second.
    private static func endsEarly(_ file: SharedFile) -> Bool {
        guard let end = file.linkExpires.flatMap(Timestamp.init(rfc3339:)),
            let wanted = Timestamp(rfc3339: file.expires)
        else { return false }
        return wanted.seconds - end.seconds > 1
    }

    ///     ID                                    SHARED               UNTIL                SIZE     ON    FILE
    static func table(_ files: [SharedFile], width: Int? = Terminal.width()) -> String {
        TextTable.text(
            [["ID", "SHARED", "UNTIL", "SIZE", "ON", "FILE"]]
                + files.map { file in
                    [
                        file.id, LocalTime.text(file.created),
                        file.link == nil ? "ended" : LocalTime.text(file.expires), "\(ByteCount(file.size))",
                        file.device, file.path,
                    ]
                }, width: width)
    }
}

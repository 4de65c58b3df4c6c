import ArgumentParser
import ControlAPI
import ControlClient
import Foundation
import Model

struct CoordinateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coordinate", abstract: "Runs a command while holding a claim on items.",
        usage: "dewpoint coordinate [OPTION PATH ...] [PATH ...] -- COMMAND ...",
        discussion: """
            A read claim waits until no one else writes the items; a write claim until no one else reads or writes them. While COMMAND runs, \
            other programs wait. All items are granted together. Paths without an option are claimed for writing:

            dewpoint coordinate letter.txt -- sed -i s/red/blue/ letter.txt
            dewpoint coordinate --reading Photos --writing index.html -- make-index
            dewpoint coordinate --moving draft --replacing final -- mv draft final

            The environment variable DEWPOINT_CLAIM holds the id of the claim. If the claim is revoked (`dewpoint locks --break`, or the \
            daemon exits), a message is printed to standard error, and COMMAND continues. SIGINT, SIGTERM, SIGHUP and SIGQUIT are \
            forwarded to COMMAND.

            Exit status: that of COMMAND; 128+N if signal N killed it; 124 if the claim was not granted in time; 125 if it was not granted \
            for another reason; 126 if COMMAND cannot be run; 127 if COMMAND is not found.
            """)

    @Option(
        parsing: .upToNextOption,
        help: Self.help("Items to read; other programs cannot write them while COMMAND runs."),
        completion: .file())
    var reading: [String] = []

    @Option(parsing: .upToNextOption, help: Self.help("Items to write."), completion: .file())
    var writing: [String] = []

    @Option(
        parsing: .upToNextOption, help: Self.help("Items to delete; a directory with its contents."),
        completion: .file())
    var deleting: [String] = []

    @Option(parsing: .upToNextOption, help: Self.help("Items to move or rename."), completion: .file())
    var moving: [String] = []

    @Option(parsing: .upToNextOption, help: Self.help("Items to replace or to create."), completion: .file())
    var replacing: [String] = []

    @Option(
        parsing: .upToNextOption, help: Self.help("Items to write, after their presenters have saved them."),
        completion: .file())
    var merging: [String] = []

    @Option(
        parsing: .upToNextOption, help: Self.help("Items whose attributes are changed, but not their contents."),
        completion: .file())
    var metadata: [String] = []

    /// The argument parser rejects two lists, so this is both: paths, `--`, and the command.
    @Argument(
        parsing: .captureForPassthrough,
        help: ArgumentHelp("Items to write, then -- and the command to run.", valueName: "path"),
        completion: .file())
    var words: [String] = []

    @Option(help: ArgumentHelp("Give up after this time.", valueName: "seconds"))
    var timeout: Double?

    @Flag(help: "Download items that are not local first; without this flag they are refused.")
    var waitForDownload = false

    @Option(help: "Do not wait for claims with the same purpose identifier.")
    var purpose: String?

    func validate() throws {
        // From its first unknown argument on, the argument parser takes nothing for an option.
        if !Set(["-h", "--help"]).isDisjoint(with: paths) { throw CleanExit.helpRequest(self) }
        if let option = paths.first(where: { $0.hasPrefix("-") && $0 != "-" }) {
            throw ValidationError("options must precede paths: \(option); for a path of that name, write ./\(option)")
        }
        if command.isEmpty { throw ValidationError("give the command to run after --") }
        if accesses.isEmpty { throw ValidationError("give at least one path") }
        if let timeout, !(timeout > 0 && timeout <= ClaimRequest.timeoutLimitSeconds) {
            throw ValidationError(
                "--timeout must be more than 0 and at most \(Int(ClaimRequest.timeoutLimitSeconds)) seconds")
        }
        if purpose?.isEmpty == true { throw ValidationError("a purpose cannot be empty") }
    }

    func run() async throws {
        // Before a connection is opened: the command must not inherit it.
        let inheritance = Inheritance()
        let status: Int32
        do {
            status = try await runCoordinated(inheritance)
        } catch {
            throw Self.failure(error)
        }
        Foundation.exit(status)
    }

    /// The claimed items, in the order of the options.
    var accesses: [(access: ItemAccess, path: String)] {
        ItemAccess.allCases.flatMap { access in
            let given =
                switch access {
                case .reading: reading
                case .writing: writing + paths
                case .deleting: deleting
                case .moving: moving
                case .replacing: replacing
                case .merging: merging
                case .metadata: metadata
                }
            return given.map { (access, $0) }
        }
    }

    /// The paths without an option.
    private var paths: ArraySlice<String> { words.prefix { $0 != "--" } }

    /// The command and its arguments.
    var command: [String] { Array(words.dropFirst(paths.count + 1)) }

    func request(_ items: [ClaimRequest.Item]) -> ClaimRequest {
        var request = ClaimRequest(claim: 0, items: items)
        request.purpose = purpose
        request.timeoutSeconds = timeout
        return request
    }

    private static func help(_ text: String) -> ArgumentHelp { ArgumentHelp("\(text)", valueName: "path") }

    /// - Returns: The exit status of the command.
    private func runCoordinated(_ inheritance: Inheritance) async throws -> Int32 {
        for access in ItemAccess.allCases {
            try CommandFailure.refuseRepetition(accesses.filter { $0.access == access }.map(\.path))
        }
        let places = try accesses.map { (access: $0.access, place: try MountedPath($0.path)) }
        guard let mount = places.first?.place.mount else { return ExitStatus.ok.rawValue }
        if let other = places.first(where: { $0.place.mount != mount }) {
            throw CommandFailure(
                .usage,
                "\(other.place.given) is in \(other.place.mount.mountpoint), \(places[0].place.given) in "
                    + "\(mount.mountpoint): all items of a claim must be in one mount")
        }
        if !waitForDownload { try await refuseDownload(places, mount) }
        let session = try await ReconnectingSession.open(socketPath: try MountedPath.socket(of: mount).path)
        do {
            let status = try await runUnderClaim(
                request(places.map { $0.access.item($0.place.path) }), session, inheritance)
            await session.close()
            return status
        } catch {
            await session.close()
            throw error
        }
    }

    private func runUnderClaim(
        _ request: ClaimRequest, _ session: ReconnectingSession, _ inheritance: Inheritance
    ) async throws -> Int32 {
        let display = ClaimDisplay()
        let loss: @Sendable (ClaimEnded) -> Void = {
            CommandFailure(.failed, "\($0.message); the command continues without the claim").report()
        }
        // Released with the session, whatever happens.
        let claim = try await session.claim(request, onProgress: { display.show($0) }, onLoss: loss)
        display.finish()
        let child = try ChildProcess(
            command, environment: ["DEWPOINT_CLAIM": "\(claim.id)"], inheritance: inheritance)
        let status = await child.status()
        await session.release(claim)
        return status
    }

    /// A claim that needs bytes would download them, whatever that takes and costs: only if the user agrees. A file
    /// evicted after this check is downloaded.
    private func refuseDownload(_ places: [(access: ItemAccess, place: MountedPath)], _ mount: MountTable.Entry)
        async throws
    {
        try await MountedPath.withClient(of: mount) { client in
            for (access, place) in places where access.needsBytes {
                let status: ItemStatus
                do {
                    status = try await client.send(ItemStatusRequest(path: place.path))
                } catch ControlError.refused(let error) where error.code == .notFound {
                    continue  // to be created
                }
                if status.kind == .file, status.downloadingStatus == .notDownloaded {
                    throw CommandFailure(
                        .busy, "\(place.given) is not downloaded; add --wait-for-download to download it first"
                    )
                }
            }
        }
    }

    /// Our own failures must be told from those of the command.
    static func failure(_ error: any Error) -> any Error {
        switch error {
        case ClaimFailure.ended(let end) where end.reason == .timedOut:
            return CommandFailure(.timedOut, end.message)
        case let error as ClaimFailure:
            if case .control(let error) = error, let failure = CommandFailure(error) {
                return CommandFailure(.notGranted, failure.sentence)
            }
            return CommandFailure(.notGranted, error.description)
        default:
            guard let failure = CommandFailure(error) else { return error }
            return failure.status.isOfCommand ? failure : CommandFailure(.notGranted, failure.sentence)
        }
    }
}

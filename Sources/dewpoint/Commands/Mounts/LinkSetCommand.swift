import ArgumentParser
import ControlAPI
import Model

struct LinkSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Sets the conditions of the link, all at once.",
        discussion: """
            What is not given is not limited; this also lifts the limits of the mount's options until `dewpoint link clear`.

            PROFILE is one of \(LinkProfile.allCases.map(\.rawValue).joined(separator: ", ")). `100%-loss` is like \
            being offline.
            """)

    @Argument(help: "The mountpoint. (default: that of the current directory, or the only one)", completion: .directory)
    var mountpoint: String?

    @Option(
        help: "Conditions with a name; see above.", completion: .list(LinkProfile.allCases.map(\.rawValue)))
    var profile: String?

    @Option(help: ArgumentHelp("The bandwidth shared by all downloads, in KiB per second.", valueName: "kib/s"))
    var down: Int64?

    @Option(help: ArgumentHelp("The bandwidth shared by all uploads, in KiB per second.", valueName: "kib/s"))
    var up: Int64?

    @Option(help: ArgumentHelp("The time from a request to its answer, in milliseconds.", valueName: "ms"))
    var delay: Int64?

    @Option(help: ArgumentHelp("The share of requests that fail, 0 to 100.", valueName: "percent"))
    var loss: Double?

    @Flag(help: "Print a JSON object.")
    var json = false

    func validate() throws {
        let hasFigures = down != nil || up != nil || delay != nil || loss != nil
        guard (profile != nil) != hasFigures else {
            throw ValidationError(
                hasFigures
                    ? "--profile cannot be used with --down, --up, --delay or --loss"
                    : "give --profile, or some of --down, --up, --delay and --loss")
        }
        if let fault = try settings().fault { throw ValidationError(fault) }
    }

    private func settings() throws -> LinkSettings {
        guard let profile else {
            return LinkSettings(
                delayMilliseconds: delay ?? 0, downKiBPerSecond: down, upKiBPerSecond: up, lossPercent: loss ?? 0)
        }
        guard let known = LinkProfile(name: profile) else {
            let names = LinkProfile.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("there is no profile \(profile); the profiles are \(names)")
        }
        return known.settings
    }

    func run() async throws {
        let settings = try settings()
        let now = try await MountedPath.mount(mountpoint).send(LinkRequest(link: settings))
        try LinkCommand.show(now, json: json)
    }
}

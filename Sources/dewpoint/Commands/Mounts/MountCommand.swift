import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import Model
import NamedMounts

struct MountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mount", abstract: "Mounts a container and returns when it is ready.",
        discussion: """
            dewpoint mount s3://my-notes/work ~/Work
            dewpoint mount work                         # as recorded by `dewpoint add`

            With a name, the options given here win over those of `dewpoint add`, and -o adds to them.

            OPTIONS, separated by commas and explained in dewpoint-mount(1): \
            \(MountOption.usage).

            A FAST_PATH is one of \(FastPath.allCases.map(\.rawValue).joined(separator: ", ")), or all of them: all.
            """)

    @Argument(
        help: ArgumentHelp(
            "A container URL, as passed to `dewpoint container create`, or the name of a mount, as passed to `dewpoint add`.",
            valueName: "url-or-name"), completion: MountCompletion.names)
    var source: String?

    @Argument(
        help: "An empty directory. (default with a name: that of `dewpoint add`, which is created if missing)",
        completion: .directory)
    var mountpoint: String?

    @Flag(help: "Mount everything that was added with --autostart and is not mounted yet.")
    var all = false

    @OptionGroup var bucket: BucketOptions
    @OptionGroup var passphrase: PassphraseOptions

    @Option(
        help: ArgumentHelp(
            "The state directory: the index, local bytes and changes not uploaded yet. (default: that of the last mount, or $XDG_STATE_HOME/dewpoint/ID)",
            valueName: "dir"), completion: .directory)
    var state: String?

    @Option(
        help:
            "The device name that other devices see. (default: that of the last mount of this state, or the host name)"
    )
    var deviceName: String?

    @Flag(help: "Stay in the foreground and log to standard error.")
    var foreground = false

    @Option(name: .customShort("o"), help: ArgumentHelp("Mount options; see above.", valueName: "options"))
    var options: [String] = []

    /// The descriptor on which a daemon in the background reports that it is ready.
    @Option(help: .hidden)
    var readyFd: Int32?

    /// See ``TakeCommand``.
    @Flag(help: .hidden)
    var take = false

    func validate() throws {
        if all {
            if source != nil { throw ValidationError("give either --all or what to mount") }
            if foreground { throw ValidationError("--foreground is for one mount; use it without --all") }
            return
        }
        guard let source else {
            throw ValidationError("give the name of a mount (dewpoint list), or a container URL and a mountpoint")
        }
        if mountpoint == nil, source.contains("://") {
            throw ValidationError("give a directory to mount \(source) on")
        }
    }

    func run() async throws {
        guard !all else { return try await mountAll() }
        let plan = try plan()
        if foreground {
            try await plan.serve(Readiness(descriptor: readyFd))
        } else {
            try await plan.launch()
        }
    }

    /// What to mount: that of the command line, completed by the mounts file.
    private func plan() throws -> MountPlan {
        let source = source ?? ""
        var plan: MountPlan
        if source.contains("://") || (mountpoint != nil && MountName(valid: source) == nil) {
            plan = MountPlan(url: source, mountpoint: mountpoint ?? "")
        } else {
            let mount = try NamedMountLookup.mount(source)
            let surroundings = MountSurroundings.current()
            if mountpoint == nil, NamedMountLookup.isServed(mount, surroundings) {
                let place = surroundings.mountpoint(of: mount)
                throw CommandFailure(.busy, MountPlaces.alreadyMounted(source, at: place, asked: place))
            }
            plan = try MountPlan(mount)
            if let mountpoint { plan.mountpoint = mountpoint }
        }
        complete(&plan)
        return plan
    }

    /// What the command line says wins over the mounts file.
    private func complete(_ plan: inout MountPlan) {
        plan.endpoint = bucket.endpoint ?? plan.endpoint
        plan.region = bucket.region ?? plan.region
        plan.state = state ?? plan.state
        plan.deviceName = deviceName ?? plan.deviceName
        plan.options += options
        plan.passphrase = passphrase
        plan.takesDirectory = take
    }

    /// A mount that fails does not stop the others.
    private func mountAll() async throws {
        let surroundings = MountSurroundings.current()
        let document = try MountsFile(surroundings).read()
        var last: CommandFailure?
        // Those of the mounts that follow are reported with them.
        let others = document.problems.filter { problem in
            !document.mounts.contains { $0.name.description == problem.name }
        }
        if let problem = others.first {
            last = CommandFailure(problem, in: document, of: MountsFile(surroundings))
        }
        for mount in document.mounts where mount.autostart && !NamedMountLookup.isServed(mount, surroundings) {
            do {
                var plan = try MountPlan(try NamedMountLookup.mount(mount.name.description))
                complete(&plan)
                try await plan.launch()
            } catch {
                guard let failure = CommandFailure(error) else { throw error }
                last?.report()
                last = CommandFailure(failure.status, "\(mount.name): \(failure.sentence)", log: failure.log)
            }
        }
        if let last { throw last }
    }
}

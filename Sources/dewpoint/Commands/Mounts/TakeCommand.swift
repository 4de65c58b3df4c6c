import ArgumentParser
import Daemon
import Foundation
import Linux
import Model
import Mount
import NamedMounts
import Replica
import Transfer

struct TakeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "take", abstract: "Turns a directory, with everything in it, into the mount of a new container.",
        discussion: """
            The files become those of the mount where they lie: nothing is copied, and what is in them is uploaded in the background. Programs \
            that look for a file meanwhile wait, a few seconds for each 100,000 items, and those that have files open keep them. The \
            container is created with --id, if there is none at the URL. An interrupted run is finished by the same command.

            dewpoint take ~/Pictures s3://my-notes/pictures --id iCloud.com.example.Pictures --dry-run
            dewpoint take ~/Pictures s3://my-notes/pictures --id iCloud.com.example.Pictures
            dewpoint take --undo ~/Pictures             # a plain directory again
            """)

    @Argument(help: "The directory.", completion: .directory)
    var directory: String

    @Argument(help: "The container URL, as for `dewpoint container create`.")
    var container: String?

    @OptionGroup var bucket: BucketOptions
    @OptionGroup var passphrase: PassphraseOptions

    @Option(help: "The identifier of the container, if it is to be created, as in iCloud.com.example.Notes.")
    var id: String?

    @Option(
        help: ArgumentHelp(
            "The state directory, on the file system of the directory. (default: $XDG_STATE_HOME/dewpoint/ID)",
            valueName: "dir"), completion: .directory)
    var state: String?

    @Option(help: "The device name that other devices see. (default: the host name)")
    var deviceName: String?

    @Option(
        name: .customShort("o"), help: ArgumentHelp("Mount options, as for `dewpoint mount`.", valueName: "options"))
    var options: [String] = []

    @Flag(help: "Say what would be done, and do nothing.")
    var dryRun = false

    @Flag(help: "Unmount, and give the plain directory back; what is not local is downloaded first.")
    var undo = false

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        if undo {
            if container != nil || id != nil || dryRun { throw ValidationError("--undo takes the directory alone") }
        } else if container == nil {
            throw ValidationError("give the URL of the container, such as s3://my-notes/pictures")
        }
    }

    func run() async throws {
        let path = try MountedPath.absolute(directory)
        if undo { return try await DirectoryReturn(directory: path, state: state, asksJSON: json).run() }
        try await take(path, container ?? "")
    }

    private func take(_ path: String, _ url: String) async throws {
        try? Mountpoint.removeDead(path)
        guard MountTable.current().mount(at: path) == nil else {
            throw CommandFailure(
                .usage, "\(path) is a mount already; take the directory before anything is mounted on it")
        }
        TransferText.raiseDescriptorLimit()
        let plan = try plan(path, url)
        let identifier = try id.map { try ContainerIdentifier(argument: $0) }
        let state = try await plan.takingState(id: identifier)
        if try state.isTaking(path) { return try await finish(plan, state) }
        try checkPlaces(path, url)
        let survey = try TreeSurvey(of: path, ignoring: try plan.ignoredPatterns())
        let text = TakeText(path: path, url: url, survey: survey)
        try check(survey, path, state)
        try await plan.checkIsNew(state, isCreating: identifier != nil)
        var report = TakeReport(path, url, state.path, survey, isDone: false)
        if dryRun {
            if json { try JSONOutput.print(report) } else { print(text.plan(state: state.path)) }
            return
        }
        if !json { text.sayLosses() }
        try await plan.createContainer(identifier)
        try await plan.launch()
        report.done = true
        if json { try JSONOutput.print(report) } else { print(text.outcome) }
    }

    /// Goes on with what was interrupted: what is in the directory now is not all of it.
    private func finish(_ plan: MountPlan, _ state: StateDirectory) async throws {
        let text = "\(plan.mountpoint) was being taken over when that was interrupted"
        if dryRun { return print("\(text); this would be finished".printable) }
        CommandFailure.say("\(text); finishing that")
        try await plan.launch()
        if json { return try JSONOutput.print(FinishedReport(directory: plan.mountpoint, state: state.path)) }
        print("\(plan.mountpoint) is the mount of \(plan.url) now".printable)
    }

    private func plan(_ path: String, _ url: String) throws -> MountPlan {
        var plan = MountPlan(url: url, mountpoint: path)
        plan.endpoint = bucket.endpoint
        plan.region = bucket.region
        plan.state = state
        plan.deviceName = deviceName
        plan.options = options
        plan.passphrase = passphrase
        plan.takesDirectory = true
        return plan
    }

    /// Before the container is made in a place where it cannot be.
    private func checkPlaces(_ path: String, _ url: String) throws {
        let place = try MountPlaces.directory(of: url)
        try MountPlaces.check(mountpoint: path, directory: place, mounts: MountTable.current())
        if let place { try MountPlaces.check(directory: place, mounts: MountTable.current()) }
        let inner = MountTable.current().mounts(within: path).map(\.mountpoint)
        guard inner.isEmpty else {
            throw CommandFailure(
                .cannotCreate,
                "\(path) cannot be taken over, and nothing was changed: something is mounted in it; unmount that first",
                log: inner)
        }
        if let reason = try DirectoryObstacle(of: path)?.sentence {
            throw CommandFailure(
                .cannotCreate, "\(path) cannot be taken over, and nothing was changed: the directory itself \(reason)")
        }
    }

    /// Before anything is created or moved.
    private func check(_ survey: TreeSurvey, _ path: String, _ state: StateDirectory) throws {
        if survey.obstacles.count > 0 {
            throw CommandFailure(
                .cannotCreate,
                "\(path) cannot be taken over, and nothing was changed: "
                    + "\(TransferText.count(survey.obstacles.count, "item")) cannot be in a container",
                log: survey.obstacles.first.map { "\($0.path): \($0.reason)" })
        }
        if PathRelation(state.path, path) != .apart {
            throw CommandFailure(
                .usage, "the state \(state.path) and the directory \(path) lie in each other; give another --state DIR")
        }
        guard try state.isOnFileSystem(of: path) else {
            throw CommandFailure(
                .usage,
                "the state \(state.path) is not on the file system of \(path), or on another mount of it, so that everything would have "
                    + "to be copied; give one that is beside it: --state \(TakeText.neighbour(of: path))")
        }
    }
}

/// The same of one that was interrupted.
private struct FinishedReport: Encodable {
    let directory: String
    let state: String
    var done = true
}

/// `dewpoint take --json`.
private struct TakeReport: Encodable {
    let directory: String
    let url: String
    let state: String
    let items: Int
    let files: Int
    let bytes: Int64
    let unsyncedCount: Int
    /// The first of them.
    let unsynced: [SurveyFindings.Finding]
    let accessCount: Int
    /// The first of them.
    let access: [SurveyFindings.Finding]
    var done: Bool

    init(_ directory: String, _ url: String, _ state: String, _ survey: TreeSurvey, isDone: Bool) {
        self.directory = directory
        self.url = url
        self.state = state
        items = survey.itemCount
        files = survey.fileCount
        bytes = survey.byteCount
        unsyncedCount = survey.unsynced.count
        unsynced = survey.unsynced.first
        accessCount = survey.access.count
        access = survey.access.first
        done = isDone
    }
}

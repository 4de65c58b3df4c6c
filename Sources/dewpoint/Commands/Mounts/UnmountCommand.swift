import ArgumentParser
import ControlAPI
import ControlClient
import Daemon
import Foundation
import Model

struct UnmountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmount", abstract: "Unmounts a container and waits for its daemon to exit.",
        discussion: """
            Changes that are not uploaded yet are listed and kept in the state directory; the next mount uploads them. With \
            --wait, nothing is unmounted before everything is uploaded. If another mount namespace, such as that of \
            a Linux container, has a copy of the mount, programs there get errors from then on.
            """)

    @Argument(help: "The mountpoint, or the name of a mount.", completion: MountCompletion.mounted)
    var mountpoint: String

    @Flag(help: "First wait until everything is uploaded, with a progress bar on a terminal.")
    var wait = false

    @Flag(help: "Unmount even if files are open; using them fails from then on.")
    var lazy = false

    /// How long a daemon may take to close its state after the mount is gone.
    private static let endLimit = Duration.seconds(60)
    private static let pollInterval = Duration.milliseconds(20)
    /// The delay and interval of messages about what the command waits for.
    private static let newsInterval = Duration.seconds(3)

    func run() async throws { try await run(saying: nil) }

    /// - Parameter sentence: What is said of changes that are not uploaded, from their number and `: NAMES`; `nil` for that the next
    ///   mount uploads them.
    func run(saying sentence: ((String, String) -> String)?) async throws {
        let place = try NamedMountLookup.mountpoint(mountpoint)
        let status: ContainerStatus?
        do {
            status = try await place.withClient { client in
                if wait { try await UploadWait(place).run(client) }
                let status = try await client.send(ContainerStatusRequest())
                let left = try await Self.left(status, client, sentence)
                if MountCondition.isOfAnotherUser(place.mount) {
                    // Root changes nothing through another user's daemon, which notices the end of its mount.
                    try await Unmounting.unmount(place.mount.mountpoint, lazily: lazy)
                } else {
                    try await unmount(client)
                }
                if let left { CommandFailure.say(left) }
                return status
            }
        } catch ControlError.daemonUnreachable {
            // Its daemon is dead, or was started where its socket is not visible: the kernel can unmount all the same.
            try await Unmounting.abandon(place.mount.mountpoint, device: place.mount.device, lazily: lazy)
            status = nil
        }
        try await waitForEnd(of: status, mount: place.mount)
    }

    /// How many changes are named.
    private static let namedLimit = 5

    /// What has not left this device; `nil` when everything is uploaded.
    private static func left(
        _ status: ContainerStatus, _ client: ControlClient, _ sentence: ((String, String) -> String)?
    ) async throws -> String? {
        guard let pending = ContainerText.pending(status) else { return nil }
        let listing = try await client.send(TransfersRequest())
        let changes = (listing.active + listing.waiting).filter { $0.direction == .up }
        let names = changes.prefix(namedLimit).map { $0.isDeletion ? "\($0.path) (deleted)" : $0.path }
        let more = status.pendingUploadCount - names.count
        let list = (names + (more > 0 ? ["\(more) more"] : [])).joined(separator: ", ")
        if let sentence { return sentence(pending, names.isEmpty ? "" : ": \(list)") }
        let next =
            status.readOnly?.reason == .store
            ? "a mount that may write, with this state," : "the next mount with this state"
        return "not uploaded yet: \(pending), kept in \(status.state); \(next) uploads them"
            + (names.isEmpty ? "" : ": \(list)")
    }

    /// Asks the daemon to unmount, and reports what it waits for if that takes long.
    private func unmount(_ client: ControlClient) async throws {
        let news = Task {
            try await Task.sleep(for: Self.newsInterval)
            CommandFailure.say("waiting for the kernel to write back changes made through mapped files")
        }
        defer { news.cancel() }
        try await client.send(UnmountRequest(lazily: lazy))
    }

    private func waitForEnd(of status: ContainerStatus?, mount: MountTable.Entry) async throws {
        let start = ContinuousClock.now
        var next = start + Self.newsInterval
        var reason: String?
        while ContinuousClock.now < start + Self.endLimit {
            let isMounted = MountTable.current().entries.contains(mount)
            if !isMounted, status.map({ !Self.isRunning($0.processID) }) ?? true { return }
            if ContinuousClock.now >= next {
                next += Self.newsInterval
                let now = Self.reason(status)
                if now != reason { CommandFailure.say("waiting: \(now)") }
                reason = now
            }
            try await Task.sleep(for: Self.pollInterval)
        }
        throw CommandFailure(
            .busy,
            "\(mountpoint) is unmounted, but \(Self.reason(status)) after \(Self.endLimit), and uses the state until it exits; see its "
                + "log")
    }

    private static func reason(_ status: ContainerStatus?) -> String {
        guard let status else { return "the kernel still lists the mount" }
        let doing = ShutdownRecord(state: status.state).reason(of: status.processID)
        return "its daemon (process \(status.processID)) is still \(doing ?? "running")"
    }

    /// Whether a process runs; a zombie does not.
    private static func isRunning(_ process: Int32) -> Bool {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return false }
        // `PID (NAME) STATE …`, and the name may contain any characters.
        let state = text[(text.lastIndex(of: ")") ?? text.startIndex)...].dropFirst(2).first
        return state != "Z" && state != "X"
    }
}

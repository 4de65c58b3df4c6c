import ArgumentParser
import ControlAPI
import ControlClient
import Daemon
import Foundation
import Model

struct UnmountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmount", abstract: "Unmounts a container and returns when its daemon has ended.",
        discussion: "What is not uploaded yet stays in the state and goes on with the next mount.")

    @Argument(help: "The mountpoint.", completion: .directory)
    var mountpoint: String

    @Flag(help: "Unmount also while files are open there; they give errors from then on.")
    var lazy = false

    /// How long a daemon may take to close its state after the mount is gone.
    private static let endLimit = Duration.seconds(60)
    private static let pollInterval = Duration.milliseconds(20)

    func run() async throws {
        let place = try MountedPath.mountpoint(mountpoint)
        let process: Int32?
        do {
            process = try await place.withClient { client in
                let process = try await client.containerStatus().processID
                try await client.unmount(lazily: lazy)
                return process
            }
        } catch ControlError.daemonUnreachable {
            // Its daemon is dead, or was started where we cannot see its socket: the kernel unmounts all the same.
            try await Unmounting.unmount(place.mount.mountpoint, lazily: lazy)
            process = nil
        }
        try await waitForEnd(of: process, mount: place.mount)
    }

    private func waitForEnd(of process: Int32?, mount: MountTable.Entry) async throws {
        let deadline = ContinuousClock.now + Self.endLimit
        while ContinuousClock.now < deadline {
            let isMounted = try MountTable.current().entries.contains(mount)
            if !isMounted, process.map({ !Self.isRunning($0) }) ?? true { return }
            try await Task.sleep(for: Self.pollInterval)
        }
        throw CommandFailure(
            .busy, "\(mountpoint) is unmounted, but its daemon has not ended after \(Self.endLimit); see its log")
    }

    /// Whether a process runs; one that nobody has waited for does not.
    private static func isRunning(_ process: Int32) -> Bool {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return false }
        // `PID (NAME) STATE …`, and the name may hold anything.
        let state = text[(text.lastIndex(of: ")") ?? text.startIndex)...].dropFirst(2).first
        return state != "Z" && state != "X"
    }
}

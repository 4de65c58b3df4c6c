import ArgumentParser
import ControlAPI
import ControlClient
import Daemon
import Foundation
import Model
import Mount
import Replica

/// `dewpoint take --undo`: unmounts, and makes the directory a plain one again.
struct DirectoryReturn {
    /// Absolute, without symbolic links.
    let directory: String
    /// The state directory, as given.
    let state: String?
    let asksJSON: Bool

    private struct Report: Encodable {
        let directory: String
        let items: Int
        let faultCount: Int
        /// The first of them.
        let faults: [ReturnedTree.Fault]

        init(_ directory: String, _ tree: ReturnedTree) {
            self.directory = directory
            items = tree.nameCount
            faultCount = tree.faultCount
            faults = tree.faults
        }
    }

    /// How many paths are printed.
    private static let namedLimit = 20

    func run() async throws {
        try? Mountpoint.removeDead(directory)
        let place: StateDirectory
        if MountTable.current().mount(at: directory) != nil {
            place = try await unmount()
        } else {
            place = try knownState()
        }
        TransferText.raiseDescriptorLimit()
        let tree = try place.giveBack(to: directory)
        if asksJSON { return try JSONOutput.print(Report(directory, tree)) }
        sayFaults(of: tree)
        print("\(directory) is a plain directory again; the container has what was uploaded".printable)
    }

    private func sayFaults(of tree: ReturnedTree) {
        guard tree.faultCount > 0 else { return }
        CommandFailure.say("\(TransferText.count(tree.faultCount, "item")) could not be given back as on the mount:")
        for fault in tree.faults.prefix(Self.namedLimit) { CommandFailure.say("  \(fault.path): \(fault.reason)") }
        let more = tree.faultCount - Self.namedLimit
        if more > 0 { CommandFailure.say("  and \(more) more") }
    }

    /// Downloads what is not local, uploads what can be uploaded, and unmounts.
    private func unmount() async throws -> StateDirectory {
        let place = try MountedPath.mountpoint(directory)
        // Nothing is evicted from here on.
        let isPinned = try await place.send(PinsRequest()).contains { $0.path.isEmpty && $0.pinned }
        try await place.send(PinRequest(path: "", pinned: true))
        do {
            return try await unmount(place)
        } catch {
            // Otherwise the mount would keep everything local. Where it is gone, so is that.
            if !isPinned { try? await place.send(PinRequest(path: "", pinned: false)) }
            throw error
        }
    }

    private func unmount(_ place: MountedPath) async throws -> StateDirectory {
        let status = try await place.withClient { client in
            try await ProgressDisplay.during(directory, noun: "file") {
                try await client.send(DownloadRequest(path: "", wait: true))
            } progress: {
                try await client.send(DownloadProgressRequest(path: ""))
            }
            let status = try await client.send(ContainerStatusRequest())
            guard let totals = status.totals, totals.localFileCount == totals.fileCount else {
                throw CommandFailure(
                    .unavailable,
                    "not everything in \(directory) could be downloaded; see: dewpoint status \(directory)")
            }
            return status
        }
        var command = try UnmountCommand.parse([directory])
        command.wait = false
        try await command.run()
        return StateDirectory(path: status.state)
    }

    private func knownState() throws -> StateDirectory {
        if let state { return try StateDirectory(given: state, resolved: try MountedPath.absolute(state)) }
        return try StateDirectory.lastMounted(at: directory, orNamedBy: "dewpoint take --undo \(directory)")
    }
}

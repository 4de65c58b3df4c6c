import ArgumentParser
import ControlAPI
import ControlClient
import Daemon
import Foundation
import Model
import Mount
import NamedMounts
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
        let isMounted = MountTable.current().mount(at: directory) != nil
        if isMounted { place = try await unmount() } else { place = try knownState() }
        TransferText.raiseDescriptorLimit()
        let tree: ReturnedTree
        do throws(DaemonError) { tree = try place.giveBack(to: directory) } catch {
            if isMounted { CommandFailure.say("\(directory) is unmounted; its files are in the state \(place.path)") }
            throw error
        }
        sayNamedMount()
        if asksJSON { return try JSONOutput.print(Report(directory, tree)) }
        sayFaults(of: tree)
        print("\(directory) is a plain directory again; the container has what was uploaded".printable)
    }

    /// A mount of the mounts file would be mounted there again.
    private func sayNamedMount() {
        let surroundings = MountSurroundings.current()
        // A file that cannot be read mounts nothing.
        let mounts = (try? MountsFile(surroundings).read())?.mounts ?? []
        for mount in mounts where surroundings.mountpoint(of: mount).isBytewiseEqual(to: directory) {
            CommandFailure.say(
                "the mount \(mount.name) is still in the mounts file; remove it: dewpoint remove \(mount.name)")
        }
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
        try await checkPlace(place)
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

    /// Before anything is unmounted: what was mounted on is out of reach, but not the number of the mount that it is on.
    private func checkPlace(_ place: MountedPath) async throws {
        let state = StateDirectory(path: try await place.send(ContainerStatusRequest()).state)
        guard let number = state.mountNumber(), number != place.mount.parent else { return }
        throw CommandFailure(
            .cannotCreate,
            TreeReturn.distance(of: directory, from: state.path)
                + ", once it is unmounted: dewpoint unmount \(directory)")
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
        try await command.run { "not uploaded: \($0), which \(directory) has and the container has not\($1)" }
        return StateDirectory(path: status.state)
    }

    private func knownState() throws -> StateDirectory {
        if let state { return try StateDirectory(given: state, resolved: try MountedPath.absolute(state)) }
        return try StateDirectory.lastMounted(at: directory, orNamedBy: "dewpoint take --undo \(directory)")
    }
}

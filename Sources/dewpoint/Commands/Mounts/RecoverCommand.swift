import ArgumentParser
import ControlAPI
import ControlClient
import Daemon
import Foundation
import Model

struct RecoverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover",
        abstract: "Brings back what a lost machine had not uploaded, from its state directory.",
        discussion: """
            The old state is only read; it may be on a disk of the old machine, or a copy of a backup. Its changes are uploaded as the old \
            machine would have: bytes, modes, times, attributes, links and renames. Where another device has changed the same file since, \
            both versions are kept; see: dewpoint conflicts. Deletions are left out without --deletions. Files that were never synced are \
            copied, if nothing has their names. Without a usable index, only new and changed files can be found, under the names that \
            they have in the old state.

            dewpoint mount s3://my-notes/work /mnt/work
            dewpoint recover /media/old/home/me/.local/state/dewpoint/iCloud.com.example.Notes /mnt/work
            """)

    @Argument(help: "The state directory of the lost machine, or a copy of it.", completion: .directory)
    var state: String

    @Argument(
        help:
            "Where its container is mounted with another state. (default: that of the current directory, or the only one)",
        completion: .directory)
    var mountpoint: String?

    @Flag(help: "Also delete what was deleted on the old machine.")
    var deletions = false

    @Flag(help: "Print a JSON object.")
    var json = false

    struct Report: Encodable {
        /// How many changed items were uploaded.
        var changes = 0
        /// Files with a conflict version since then.
        var conflicts: [String] = []
        /// Items that were copied, since they are not synced or the index does not know them.
        var copied: [String] = []
        /// Deletions that were left out.
        var deletions: [String] = []
        var problems: [String] = []
    }

    /// How many deletions may be confirmed one after the other.
    private static let confirmationLimit = 3

    func run() async throws {
        let place = try MountedPath.mount(mountpoint)
        guard !MountCondition.isOfAnotherUser(place.mount) else {
            throw CommandFailure(
                .denied, "\(place.mount.mountpoint) is the mount of another user; run this as that user")
        }
        let status = try await place.send(ContainerStatusRequest())
        let old = StateDirectory(path: try MountedPath.absolute(state))
        guard !old.path.isBytewiseEqual(to: status.state) else {
            throw CommandFailure(
                .usage, "\(old.path) is the state of \(status.mountpoint) itself; nothing in it is lost")
        }
        try await RecoveryPlace.clear(status.state)
        let work = try RecoveryPlace(in: status.state)
        defer { work.remove() }
        var report = Report()
        switch try old.recover(to: work.state, keepsDeletions: deletions) {
        case .state(let findings): try await upload(findings, old, work, place, status, &report)
        case .filesOnly(let reason):
            CommandFailure.say("the index of \(old.path) cannot be used, only its files: \(reason)")
            report.add(try old.copyFiles(nil, to: place.mount.mountpoint))
        }
        try await place.withClient { try await UploadWait(place).run($0) }
        if json { try JSONOutput.print(report) } else { print(text(report, old, place)) }
        if !report.problems.isEmpty {
            throw CommandFailure(.failed, "not everything could be recovered; nothing in \(old.path) was changed")
        }
    }

    private func upload(
        _ findings: StateFindings, _ old: StateDirectory, _ work: RecoveryPlace, _ place: MountedPath,
        _ status: ContainerStatus, _ report: inout Report
    ) async throws {
        guard findings.container.isBytewiseEqual(to: status.container.description) else {
            throw CommandFailure(
                .usage,
                "\(old.path) is the state of the container \(findings.container), and \(status.mountpoint) is "
                    + "\(status.container)")
        }
        report.changes = findings.changeCount
        report.deletions = findings.deletedPaths
        report.problems = findings.problems
        let before = try await place.withClient { try await Self.conflicts($0) }
        try await mount(work, as: old.deviceName ?? status.deviceName, status)
        do {
            let mounted = try MountedPath.mountpoint(work.mountpoint)
            try await mounted.withClient { client in
                try await wait(mounted, client)
                report.conflicts = try await Self.conflicts(client).filter { $0.value > before[$0.key] ?? 0 }
                    .map(\.key.string).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            }
            report.add(
                try StateDirectory.copy(findings.unsyncedPaths, from: work.mountpoint, to: place.mount.mountpoint))
        } catch {
            try? await work.unmount()
            throw error
        }
        try await work.unmount()
        report.add(try old.copyFiles(findings.unknownPaths, to: place.mount.mountpoint))
    }

    private func mount(_ work: RecoveryPlace, as device: String, _ status: ContainerStatus) async throws {
        let state = StateDirectory(path: status.state)
        let location = try state.location()
        try state.lendKeyring(to: work.state)
        var plan = MountPlan(url: location.url, mountpoint: work.mountpoint)
        plan.endpoint = location.endpoint
        plan.region = location.region
        plan.state = work.state.path
        plan.deviceName = device
        plan.options = ["noallow_other"]
        try await plan.launch()
    }

    private func wait(_ mounted: MountedPath, _ client: ControlClient) async throws {
        for _ in 1..<Self.confirmationLimit {
            do { return try await UploadWait(mounted).run(client) } catch ControlError.refused(let error) {
                let isHeld = try await client.send(ContainerStatusRequest()).heldDeletionCount > 0
                guard deletions, error.code == .busy, isHeld else { throw error }
                // They were asked for.
                try await client.send(DeletionsRequest(discard: false))
            }
        }
        try await UploadWait(mounted).run(client)
    }

    /// How many conflict versions each file has.
    private static func conflicts(_ client: ControlClient) async throws -> [ItemPath: Int] {
        let pairs = try await client.send(ConflictsRequest()).map { (ItemPath($0.path), $0.versions.count) }
        return Dictionary(pairs) { first, _ in first }
    }

    /// How many paths of each kind are printed.
    private static let namedLimit = 20

    private func text(_ report: Report, _ old: StateDirectory, _ place: MountedPath) -> String {
        var lines = [
            report.changes == 0
                ? "no change waited in \(old.path)"
                : "\(TotalsText.count(report.changes, "change")) of \(old.path) \(report.changes == 1 ? "is" : "are") in the container now"
        ]
        func list(_ paths: [String], _ sentence: String) {
            guard !paths.isEmpty else { return }
            lines.append(sentence)
            lines += paths.prefix(Self.namedLimit).map { "  \($0)" }
            if paths.count > Self.namedLimit { lines.append("  and \(paths.count - Self.namedLimit) more") }
        }
        list(
            report.conflicts,
            "changed elsewhere too, both versions are kept (dewpoint conflicts \(place.mount.mountpoint)):")
        list(report.copied, "not known to the container, copied:")
        list(
            report.deletions,
            "deleted on the old machine, still there (to delete them too, run this again with --deletions):")
        list(report.problems, "not recovered:")
        return lines.map(\.printable).joined(separator: "\n")
    }
}

extension RecoverCommand.Report {
    fileprivate mutating func add(_ items: CopiedItems) {
        copied += items.paths
        problems += items.problems
    }
}

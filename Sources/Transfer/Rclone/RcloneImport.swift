import Linux
package import Model
import Remote
import Replica
import Sync

/// Uploads what is new or changed in a directory of a remote of rclone, without a mount. It may be repeated, and then
/// goes on from wherever the earlier run ended.
///
///     rclone lsjson ──→ RclonePlanner ──→ RclonePlan ──→ RcloneFetch ──→ ContentUpload ──→ TreeSender
///                            ↑ the index                     a batch at a time: files on disk, one commit
///
/// No edit of the container is overwritten and nothing is deleted from it: see ``RcloneChange``.
package struct RcloneImport {
    /// How many bytes one batch takes at most; a single larger file still goes as one. Two batches, or one such file, are
    /// on the disk at a time.
    static let bytesPerBatch = Import.bytesPerCommit
    /// How long the listing of a remote may take: a day.
    static let listingLimit = Duration.seconds(86_400)

    private let remote: RcloneRemote
    private let isDryRun: Bool
    let progress: TransferProgress
    private let rclone: RcloneProgram
    private let rule: SyncRule
    private let destination: Destination
    let scratch: ScratchReplica
    var sender: TreeSender
    /// How many packs the last batch sent at a time.
    var window = SendWindow()
    /// The items that the planned directories became.
    private var sent: [Int: ItemID] = [:]

    /// - Parameters:
    ///   - path: The directory of the container that receives the tree; created if missing. Empty for the root.
    ///   - isDryRun: Whether the run ends once it is known what it would do.
    ///   - notify: Called for each item that is left out.
    package init(
        _ scratch: ScratchReplica, from remote: RcloneRemote, into path: String, isDryRun: Bool,
        progress: TransferProgress, notify: @escaping (TransferProblem) -> Void
    ) throws(FileError) {
        self.scratch = scratch
        self.remote = remote
        self.isDryRun = isDryRun
        self.progress = progress
        rclone = RcloneProgram(scratch.sync.context.environment)
        rule = scratch.syncRule
        destination = try Destination(path, rule)
        sender = TreeSender(scratch, notify: notify)
    }

    /// - Throws: ``FileError``, with rclone's own words when it fails. What was sent before stays.
    package mutating func run() async throws(FileError) -> TransferReport {
        do {
            let features = try RcloneFeatures(try await rclone.answer(["backend", "features"], of: remote))
            let (items, fault) = try await list(features)
            try await scratch.catchUp()
            let place = try await destination.find(sender)
            let plan = try plan(items, features, place, isComplete: fault == nil)
            if let fault { sender.report(TransferProblem(.failed, path: "", "the listing is incomplete: \(fault)")) }
            progress.begin(fileCount: plan.fileCount, byteCount: plan.byteCount)
            if isDryRun { return plan.preview(sender.report) }
            sender.note { report in
                report.presentCount = plan.presentCount
                report.goneCount = plan.gone.count
            }
            guard !plan.items.isEmpty else { return sender.report }
            try await scratch.sync.containerGuard.admitCommit()
            let target = try await destination.make(place, &sender, scratch)
            try await send(plan, to: target, features)
        } catch {
            throw ScratchReplica.translated(error)
        }
        return sender.report
    }

    // MARK: Before anything is sent

    /// - Returns: The items, and rclone's own words if it could not list all of them.
    private mutating func list(_ features: RcloneFeatures) async throws -> ([RcloneItem], String?) {
        var command = ["lsjson", "--recursive", "--no-mimetype", "--no-modtime=false"] + RcloneProgram.listingOptions
        if let kind = features.hashKind, !features.hashesAreSlow {
            command += ["--hash", "--hash-type", kind.rawValue]
        }
        let ending = try await rclone.run(command, [remote.string], limit: Self.listingLimit, isFiltering: true) {
            try await RcloneListing(reading: $0)
        }
        guard ending.succeeded || !ending.output.items.isEmpty else { throw ending.failure(remote) }
        guard !ending.succeeded || ending.output.isWhole else {
            throw FileError(.inputOutput, "rclone printed no whole list of files, although it ended without an error")
        }
        let items = ending.output.sorted { path in
            let reason = "the remote has several items of this name; see: rclone dedupe"
            sender.report(TransferProblem(.failed, path: path.string, reason))
        }
        return (items, ending.succeeded ? nil : ending.reason)
    }

    /// - Parameter isComplete: Whether what is not listed is not there.
    private mutating func plan(
        _ items: [RcloneItem], _ features: RcloneFeatures, _ place: Destination.ResolvedPath, isComplete: Bool
    ) throws -> RclonePlan {
        var planner = RclonePlanner(
            into: destination.names, existing: place.existing, rule: rule, maker: maker,
            directoriesHaveTimes: !features.isBucket
        ) { [sender] name, parent in try sender.entry(name, in: parent) }
        for item in items { try planner.add(item) }
        if let target = place.existing, isComplete, !RcloneProgram.isFiltered {
            let listed = Set(items.lazy.filter { !$0.isDirectory }.map(\.path))
            for path in try imported(below: target) where !listed.contains(path) {
                planner.noteGone(path)
                planner.report(.note, path, "it is gone from the remote; the container keeps it")
            }
        }
        planner.problems.forEach { sender.report($0) }
        return planner.plan
    }

    /// Of the remote in this directory: the same remote may also be imported into others, below or above it.
    private var maker: DeviceID { remote.maker(into: destination.names) }

    /// The files in the container whose bytes came from the remote.
    private func imported(below target: ItemID) throws -> [ItemPath] {
        var paths: [ItemPath] = []
        var rest: [(ItemPath, ItemID)] = [("", target)]
        while let (path, directory) = rest.popLast() {
            try Task.checkCancellation()
            for entry in try sender.entries(in: directory) {
                let below = path.appending(entry.name.string)
                if entry.kind == .directory, let item = entry.item { rest.append((below, item)) }
                if entry.kind == .file, entry.base?.maker == maker { paths.append(below) }
            }
        }
        return paths.sorted()
    }

    // MARK: Batches

    private mutating func send(_ plan: RclonePlan, to target: ItemID, _ features: RcloneFeatures) async throws {
        let fetch = try RcloneFetch(rclone, remote, features, in: scratch.path)
        defer { RcloneFetch.Slot.allCases.forEach(fetch.clear) }
        let batches = plan.batches(itemCount: TreeSender.itemsPerCommit, byteCount: Self.bytesPerBatch)
        var outcomes: [RcloneFetch.Outcome]?
        for (number, batch) in batches.enumerated() {
            try Task.checkCancellation()
            let items = Array(plan.items[batch])
            let current: [RcloneFetch.Outcome]
            if let outcomes {
                current = outcomes
            } else {
                current = try await fetch.bring(items.filter(\.isFile), into: .init(number))
            }
            // While this batch is uploaded, the next one is fetched, unless one of them is a single large file.
            let next = number + 1 < batches.count ? Array(plan.items[batches[number + 1]]) : []
            let isAhead = !next.isEmpty && [items, next].allSatisfy { Self.byteCount(of: $0) <= Self.bytesPerBatch }
            let ahead = isAhead ? next.filter(\.isFile) : []
            async let following = fetch.bring(ahead, into: .init(number + 1))
            try await send(items, at: batch.lowerBound, current, to: target)
            fetch.clear(.init(number))
            outcomes = isAhead ? try await following : nil
        }
    }

    private static func byteCount(of items: [RclonePlan.Item]) -> Int64 {
        items.reduce(0) { $0.addingWithoutOverflow($1.expectedByteCount) }
    }

    /// - Parameters:
    ///   - start: The position of the first one in the plan.
    ///   - outcomes: Of the files among them.
    private mutating func send(
        _ items: [RclonePlan.Item], at start: Int, _ outcomes: [RcloneFetch.Outcome], to target: ItemID
    ) async throws {
        var outcomes = outcomes[...]
        var arriving: [FetchedItem] = []
        for (offset, item) in items.enumerated() {
            let record = record(start + offset, item, target)
            guard item.isFile else {
                arriving.append(FetchedItem(record: record, path: item.path.string))
                continue
            }
            switch outcomes.removeFirst() {
            case .failed(let reason): sender.report(TransferProblem(.failed, path: item.path.string, reason))
            case .fetched(let file):
                if let refusal = refusal(of: file, item) {
                    sender.report(TransferProblem(.skipped, path: item.path.string, refusal.reason))
                } else {
                    let isReplacement = if case .replacement = item.action { true } else { false }
                    arriving.append(
                        FetchedItem(record: record, path: item.path.string, file: file, isReplacement: isReplacement))
                }
            }
        }
        try await upload(arriving)
        progress.endBatch(
            fileCount: items.count { $0.isFile },
            byteCount: items.reduce(0) { $0.addingWithoutOverflow($1.byteCount ?? 0) })
    }

    /// Why a file is not synced, now that its first bytes can be read.
    private func refusal(of file: RcloneFetch.File, _ item: RclonePlan.Item) -> SyncRule.Refusal? {
        let sample = ItemSample(
            kind: .file, byteCount: item.byteCount ?? 0, age: .seconds(Int64(Int32.max))
        ) { try file.open().read(byteCount: ItemSample.headByteCount, at: 0) }
        switch rule.name(item.name.string.utf8, sample) {
        case .success: return nil
        case .failure(let refusal): return refusal
        }
    }

    /// The record of an item, without content.
    private mutating func record(_ index: Int, _ item: RclonePlan.Item, _ target: ItemID) -> ItemRecord {
        let modified = item.modified ?? scratch.now
        if case .replacement(var record, let number) = item.action {
            // The rest stays as it is in the container.
            record.modified = modified
            record.device = scratch.sync.replica.device
            record.bytesDevice = maker
            record.base = number
            return record
        }
        let parent: ItemID =
            switch item.parent {
            case .destination: target
            case .existing(let item): item
            case .planned(let directory): sent[directory] ?? target
            }
        // rclone knows no modes, or needs rights to set them.
        var record = scratch.record(
            item.name, in: parent, item.isFile ? .file : .directory, mode: item.isFile ? 0o644 : 0o755,
            modified: modified)
        if item.isFile { record.bytesDevice = maker } else { sent[index] = record.id }
        return record
    }
}

import Logging
import Model
import Remote
import Replica
import Sync

/// Downloads the small files of other devices by itself, the newest first, as macOS does (``DirectoryRule/downloadSmall``).
///
/// They come in the background, a few at a time, so that what somebody asks for waits behind no more than these; and only into
/// room that is there: nothing is evicted for them.
struct SmallDownloads: Sendable {
    let fileSystem: FileSystem
    /// How long a file is at most, in bytes, where no directory has a rule of its own.
    let byteLimit: Int64?

    /// How many are asked for at a time.
    static let width = 16
    /// How many files are passed over in one look: those of paused directories, so that those behind them wait until these are
    /// not paused, and those that are longer than the rule of their directory permits, which are listed no more.
    private static let lookLimit = 4096
    private static let batchCount = 256
    /// The longest time between two looks, apart from those after progress: there may be room on the disk.
    static let pause = Duration.seconds(10)
    /// Before the tree of a new mount is complete, nothing can be listed.
    private static let treePause = Duration.seconds(1)
    /// Between two pieces of a long look.
    private static let piecePause = Duration.milliseconds(20)

    private var replica: Replica { fileSystem.replica }
    private var rules: RuleBook { fileSystem.cache.rules }

    private enum Look {
        /// No file comes by itself.
        case unwanted
        /// All was looked at.
        case complete
        /// There is more to look at.
        case piece
    }

    /// Runs until cancelled; without a limit it ends what an earlier mount had, and waits for the rule of a directory.
    func run() async {
        let activity = fileSystem.activity
        var hasFailed = false
        while !Task.isCancelled {
            let (count, change) = (activity.progressCount, rules.changeCount)
            do throws(FileError) {
                let look = try look()
                hasFailed = false
                switch look {
                case .unwanted: await rules.waitForChange(since: change)
                case .complete: await activity.waitForProgress(since: count, atMost: Self.pause)
                case .piece: try? await fileSystem.environment.sleep(Self.piecePause)
                }
            } catch {
                if error.code == .treeIncomplete {
                    try? await fileSystem.environment.sleep(Self.treePause)
                    continue
                }
                if !hasFailed {
                    fileSystem.logger.warning(
                        "failed to look for small files to download; trying again", metadata: ["error": "\(error)"])
                }
                hasFailed = true
                await activity.waitForProgress(since: count, atMost: Self.pause)
            }
        }
    }

    private func look() throws(FileError) -> Look {
        let most = try replica.read { try rules.extent(of: .downloadSmall, $0).most }
        let reach = most == .off ? nil : most.number
        if try replica.read({ try ($0.smallFileLimit(), $0.smallFileReach()) }) != (byteLimit, reach) {
            try replica.change(isLong: true) { try $0.listSmallFiles(upTo: byteLimit, reach: reach) }
        }
        guard reach != nil else { return .unwanted }
        try noteRulesOfPaths()
        if try walk() { return .piece }
        return try requestNext()
    }

    /// Has the files listed that are in the directories whose rules were changed in the options of the mount.
    private func noteRulesOfPaths() throws(FileError) {
        let now = SmallFilePaths(rules.paths)
        let text = try replica.read { try $0.smallFilePaths() } ?? ""
        guard !text.utf8.elementsEqual(now.text.utf8) else { return }
        let before = SmallFilePaths(text: text)
        try replica.change { change in
            var lookup = try rules.lookupWithoutPaths(change.rows)
            for (path, limit) in now.limits {
                guard let directory = try? change.rows.resolve(path.string) else { continue }
                let above = try before.limits[path] ?? lookup.smallFileLimit(in: directory)
                if limit > above { try change.walkSmallFiles(below: directory, above: above) }
            }
            try change.setSmallFilePaths(now.text)
        }
    }

    /// - Returns: Whether there may be more to list.
    private func walk() throws(FileError) -> Bool {
        guard try replica.read({ try $0.hasSmallFileWalk() }) else { return false }
        return try replica.change { change in
            var lookup = try rules.lookup(change.rows)
            return try change.walkSmallFiles {
                try lookup.smallFileLimit(in: $0)
            } isApart: { [lookup] in
                try lookup.own($0)[.downloadSmall] != nil
            }
        }
    }

    private func requestNext() throws(FileError) -> Look {
        // While the store does not answer, all would fail.
        guard !fileSystem.syncEngine.store.isFailing else { return .complete }
        // Those that fail stay requested, and must not keep the others away.
        var free = try Self.width - replica.read { try $0.promisingDownloadCount() }
        guard free > 0 else { return .complete }
        // What is asked for takes its room first.
        var room = try fileSystem.cache.evictor.room(besides: replica.read { try $0.pendingDownloads().byteCount })
        var last: SmallFile?
        var lookCount = 0
        while free > 0, lookCount < Self.lookLimit {
            let batch = try replica.read { try $0.smallFiles(after: last, limit: Self.batchCount) }
            guard let end = batch.last else { return .complete }
            last = end
            lookCount += batch.count
            for file in try wanted(of: batch) where free > 0 {
                if try replica.read({ try $0.isPaused(file.inode) }) { continue }
                // A shorter one may still fit, but would come before a newer one.
                guard file.byteCount <= room else { return .complete }
                room -= file.byteCount
                free -= 1
                try fileSystem.downloads.request(file.inode, because: .small)
                try replica.change { try $0.dropSmallFile(file.inode) }
            }
        }
        return .complete
    }

    /// The files that the rules of their directories let come; the others are listed no more.
    private func wanted(of batch: [SmallFile]) throws(FileError) -> [SmallFile] {
        let areWanted = try replica.read { rows in
            var lookup = try rules.lookup(rows)
            return try batch.map { file in
                let limit = try lookup.rules(ofFile: file.inode)[.downloadSmall]?.limit ?? .off
                return limit != .off && file.byteCount <= limit.number
            }
        }
        let unwanted = zip(batch, areWanted).filter { !$1 }.map(\.0)
        if !unwanted.isEmpty {
            try replica.change { change in for file in unwanted { try change.dropSmallFile(file.inode) } }
        }
        return zip(batch, areWanted).filter(\.1).map(\.0)
    }
}

extension RuleLookup {
    /// How long the files in a directory are at most that come by themselves; -1 when none do.
    mutating func smallFileLimit(in directory: InodeNumber) throws -> Int64 {
        let limit = try rules(in: directory)[.downloadSmall]?.limit ?? .off
        return limit == .off ? -1 : limit.number
    }
}

/// The rules of paths for small files, as the index remembers them: `LENGTH PATH`, a line each.
private struct SmallFilePaths {
    let limits: [ItemPath: Int64]

    init(_ paths: [PathRules]) {
        let limits = paths.compactMap { rules in
            rules.limits[.downloadSmall].map { (ItemPath(rules.path), $0 == .off ? -1 : $0.number) }
        }
        self.limits = Dictionary(limits) { $1 }
    }

    init(text: String) {
        // A name may have line ends: no path with one is remembered.
        let lines = text.utf8.split(separator: UInt8(ascii: "\n")).compactMap { line -> (ItemPath, Int64)? in
            let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 1)
            guard parts.count == 2, let limit = Int64(Substring(parts[0])) else { return nil }
            return (ItemPath(String(Substring(parts[1]))), limit)
        }
        limits = Dictionary(lines) { $1 }
    }

    var text: String {
        limits.sorted { $0.key < $1.key }.map { "\($1) \($0.string)\n" }.joined()
    }
}

package import Model
import Remote
import Replica
import Sync

/// Turns objects that are beside the container in its bucket into items of the container, without copying them.
///
/// Each object is read once, for the hashes of its chunks; its bytes stay in place. Directories follow from the slashes
/// in the keys.
package struct Adoption {
    /// How many objects are read at a time.
    static let readWidth = 8
    /// How often an object is read that changes during the read.
    static let readLimit = 3
    /// How many bytes are read for one commit before it closes: 4 GiB, since an interruption loses what was read for
    /// it.
    static let bytesPerCommit: Int64 = 4 << 30

    private let scratch: ScratchReplica
    private let packs: PackStore
    /// The common prefix of all keys.
    private let prefix: String
    private let destination: Destination
    private let rule: SyncRule
    private let isContinued: Bool
    private var sender: TreeSender
    private var batch: [Candidate] = []
    private var batchByteCount: Int64 = 0
    /// The directories of the last key, from the destination down.
    private var stack: [Step] = []

    private var sync: SyncEngine { scratch.sync }

    private struct Step {
        let name: ItemName
        let item: ItemID
    }

    /// An item to send.
    private struct Candidate {
        let record: ItemRecord
        /// `nil` for a directory.
        let object: NeighbourObject?
        let path: String
    }

    /// The item that a key becomes.
    private struct KeyPath {
        let directories: [ItemName]
        /// `nil` for the empty object that S3 consoles create for a folder.
        let file: ItemName?
    }

    /// - Parameters:
    ///   - prefix: The common prefix of all keys; ends with a slash.
    ///   - path: The directory of the container that receives the items; created if missing. Empty for the root.
    ///   - isContinued: Whether items that were adopted from the same object are skipped, and directories are merged.
    ///   - notify: Called for each object that is left out.
    package init(
        _ scratch: ScratchReplica, prefix: String, into path: String, isContinued: Bool,
        notify: @escaping (TransferProblem) -> Void
    ) throws(FileError) {
        self.scratch = scratch
        self.prefix = prefix
        self.isContinued = isContinued
        packs = PackStore(store: scratch.sync.container.store)
        rule = scratch.syncRule
        destination = try Destination(path, rule)
        sender = TreeSender(scratch, notify: notify)
    }

    /// - Throws: ``FileError`` with `exists` and the names when some are taken; `notFound` when nothing is below the
    ///   prefix. In both cases nothing was sent.
    package mutating func run() async throws(FileError) -> TransferReport {
        try await scratch.catchUp()
        do {
            let place = try await destination.find(sender)
            try await check(place.existing)
            try await sync.containerGuard.admitCommit()
            let target = try await destination.make(place, &sender, scratch)
            var after: String?
            while let page = try await page(after: after) {
                for listing in page { try await take(listing, target) }
                after = page.last?.key
            }
            try await flush()
        } catch {
            throw ScratchReplica.translated(error)
        }
        return sender.report
    }

    /// - Returns: `nil` after the last one.
    private func page(after key: String?) async throws -> [ObjectListing]? {
        try Task.checkCancellation()
        let page = try await scratch.persistently { [store = sync.container.store, prefix] in
            try await store.list(.neighbour(prefix), after: key, limit: ObjectListing.limit)
        }
        return page.isEmpty ? nil : page
    }

    /// - Returns: The place of an object, or why it cannot be an item; `nil` for the prefix itself.
    private func keyPath(_ object: NeighbourObject) -> Result<KeyPath, SyncRule.Refusal>? {
        var names: [ItemName] = []
        let components = object.key.utf8.dropFirst(prefix.utf8.count).split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        if components.count == 1, components[0].isEmpty { return nil }
        let isFolder = components.last?.isEmpty == true
        for (index, component) in (isFolder ? components.dropLast() : components).enumerated() {
            // Its bytes are not read.
            let sample =
                index == components.count - 1
                ? ItemSample(kind: .file, byteCount: object.byteCount, age: .seconds(Int64(Int32.max)))
                : ItemSample(new: .directory)
            switch rule.name(component, sample) {
            case .success(let name): names.append(name)
            case .failure(let refusal): return .failure(refusal)
            }
        }
        let file = isFolder ? nil : names.removeLast()
        if !names.isEmpty, let refusal = rule.refusal(ofDirectoryAt: destination.names + names) {
            return .failure(refusal)
        }
        return .success(KeyPath(directories: names, file: file))
    }

    private func path(of key: String) -> String {
        String(decoding: key.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    }

    // MARK: Before anything is sent

    private mutating func check(_ target: ItemID?) async throws {
        var clashes = NameClashes()
        var last: String?
        var after: String?
        var isEmpty = true
        while let page = try await page(after: after) {
            isEmpty = false
            after = page.last?.key
            guard let target else { break }
            for listing in page {
                guard case .success(let path)? = keyPath(listing.neighbour) else { continue }
                guard let clash = try await clash(path, listing.neighbour, in: target) else { continue }
                // All conflicts in one directory count as one clash.
                if clash != last { clashes.add(clash) }
                last = clash
            }
        }
        if isEmpty { throw FileError(.notFound, "there are no objects below \(prefix) in the bucket") }
        try clashes.refuse(isContinued: isContinued)
    }

    /// - Returns: The path of the item that is in the way of an object.
    private func clash(_ path: KeyPath, _ object: NeighbourObject, in target: ItemID) async throws -> String? {
        var parent = target
        var place = ""
        for name in path.directories + (path.file.map { [$0] } ?? []) {
            guard let occupant = try await sender.occupant(name, in: parent) else { return nil }
            place += place.isEmpty ? name.string : "/\(name)"
            guard isContinued else { return place }
            guard occupant.kind == .directory else { break }
            parent = occupant.item
        }
        return try await isPresent(path, object, in: target) ? nil : place
    }

    /// Whether an object is in the container already: adopted by an interrupted run, or a folder that exists.
    private func isPresent(_ path: KeyPath, _ object: NeighbourObject, in target: ItemID) async throws -> Bool {
        var parent = target
        for name in path.directories {
            guard let occupant = try await sender.occupant(name, in: parent), occupant.kind == .directory else {
                return false
            }
            parent = occupant.item
        }
        guard let file = path.file else { return true }
        guard let content = try await sender.occupant(file, in: parent)?.content else { return false }
        guard let pack = content.packs.first else { return content.byteCount == object.byteCount && content == .empty }
        return try await scratch.persistently { [packs] in try await packs.neighbour(of: pack) } == object
    }

    // MARK: One object

    private mutating func take(_ listing: ObjectListing, _ target: ItemID) async throws {
        let object = listing.neighbour
        let shownPath = path(of: object.key)
        let path: KeyPath
        switch keyPath(object) {
        case nil: return
        case .failure(let refusal)?:
            return sender.report(TransferProblem(.skipped, path: shownPath, refusal.reason))
        case .success(let found)?: path = found
        }
        guard path.file != nil || object.byteCount == 0 else {
            return sender.report(
                TransferProblem(.skipped, path: shownPath, "its name ends with a slash, and it has bytes"))
        }
        if isContinued, try await isPresent(path, object, in: target) {
            if path.file != nil { sender.notePresent() }
            return
        }
        let parent = try await enter(path.directories, target)
        guard let file = path.file else { return }
        let record = scratch.record(file, in: parent, .file, mode: 0o644, modified: listing.modified ?? scratch.now)
        try await add(Candidate(record: record, object: object, path: shownPath))
    }

    /// Ensures that the directories of a key exist or are queued. Keys are sorted, so a directory that was left does
    /// not come again.
    private mutating func enter(_ names: [ItemName], _ target: ItemID) async throws -> ItemID {
        let common = zip(stack, names).prefix { $0.name == $1 }.count
        stack.removeLast(stack.count - common)
        for name in names.dropFirst(common) {
            let parent = stack.last?.item ?? target
            if isContinued, let occupant = try await sender.occupant(name, in: parent), occupant.kind == .directory {
                stack.append(Step(name: name, item: occupant.item))
                continue
            }
            let record = scratch.record(name, in: parent, .directory, mode: 0o755, modified: scratch.now)
            stack.append(Step(name: name, item: record.id))
            let path = stack.map(\.name.string).joined(separator: "/")
            try await add(Candidate(record: record, object: nil, path: path))
        }
        return stack.last?.item ?? target
    }

    // MARK: Batches

    private mutating func add(_ candidate: Candidate) async throws {
        if batch.count == TreeSender.itemsPerCommit || batchByteCount >= Self.bytesPerCommit { try await flush() }
        batch.append(candidate)
        batchByteCount += candidate.object?.byteCount ?? 0
    }

    private mutating func flush() async throws {
        let candidates = batch
        batch = []
        batchByteCount = 0
        guard !candidates.isEmpty else { return }
        let reading = try await read(candidates)
        for _ in 0..<Import.batchLimit {
            var arrivals: [Arrival] = []
            for (candidate, chunks) in zip(candidates, reading.chunks) {
                guard let object = candidate.object else {
                    arrivals.append(Arrival(record: candidate.record, path: candidate.path))
                    continue
                }
                guard let chunks else { continue }
                let content = try await adopt(object, chunks)
                arrivals.append(Arrival(record: candidate.record, content: content, path: candidate.path))
            }
            guard case .sent = try await sender.send(arrivals) else { continue }
            reading.problems.forEach { sender.report($0) }
            return
        }
        throw FileError(.busy, "another device keeps condemning the objects of this upload; try again later")
    }

    /// Notes that an object is a pack, and returns the content that refers to it.
    private func adopt(_ object: NeighbourObject, _ chunks: [Content.Piece]) async throws -> Content {
        guard object.byteCount > 0 else { return .empty }
        let pack = PackID.adopted(sync.context.environment.makeUUID())
        let content = Content(
            pieces: chunks.map { piece in
                let stored = piece.stored.map {
                    Content.Piece.Stored(hash: $0.hash, pack: pack, offset: piece.fileOffset, head: $0.head)
                }
                return Content.Piece(index: piece.index, byteCount: piece.byteCount, stored: stored)
            })
        // All zeros: no byte of the object is needed.
        guard !content.packs.isEmpty else { return content }
        try await scratch.persistently { [packs] in try await packs.adopt(object, as: pack) }
        return content
    }

    // MARK: Reading

    /// The chunks of each object with their hashes; `nil` for a directory, and for one that could not be read.
    private func read(
        _ candidates: [Candidate]
    ) async throws -> (chunks: [[Content.Piece]?], problems: [TransferProblem]) {
        var chunks = [[Content.Piece]?](repeating: nil, count: candidates.count)
        var problems: [TransferProblem] = []
        let scan = NeighbourScan(scratch)
        try await withThrowingTaskGroup(of: (Int, Result<[Content.Piece], FileError>).self) { group in
            var running = 0
            func takeOne() async throws {
                guard let (index, result) = try await group.next() else { return }
                running -= 1
                switch result {
                case .success(let pieces): chunks[index] = pieces
                case .failure(let error):
                    problems.append(TransferProblem(.failed, path: candidates[index].path, error.detail))
                }
            }
            for (index, candidate) in candidates.enumerated() {
                guard let object = candidate.object else { continue }
                if running == Self.readWidth { try await takeOne() }
                running += 1
                group.addTask { (index, try await scan.read(object)) }
            }
            while running > 0 { try await takeOne() }
        }
        return (chunks, problems)
    }
}

import Foundation
package import Model
import Remote
import Replica
import Sync
import Linux

/// Uploads a local tree into a container, without a mount.
///
/// Nothing in the container is overwritten: if names are taken, the import is refused before anything is sent. A name
/// that another device takes during the import keeps that device's item, and is reported.
package struct Import {
    /// How many bytes one commit takes before it closes; a single larger file still goes as one.
    static let bytesPerCommit = Uploader.bytesPerCommit
    /// How often a file is read that changes during the read.
    static let readLimit = 3
    /// How often a batch is sent again because its bytes were condemned before it landed.
    static let batchLimit = 10

    private let scratch: ScratchReplica
    private let destination: Destination
    private let rule: SyncRule
    private let isContinued: Bool
    private var sender: TreeSender
    private var batch: [Source] = []
    private var batchByteCount: Int64 = 0
    /// How many packs the last batch sent at a time.
    private var window = SendWindow()
    /// The paths that an interrupted import has already sent.
    private var presentPaths: Set<ItemPath> = []

    private var sync: SyncEngine { scratch.sync }

    /// An item to send.
    private struct Source {
        let directory: SourceDirectory
        let bytes: [UInt8]
        let record: ItemRecord

        var path: String { directory.path(of: bytes) }
    }

    /// - Parameters:
    ///   - path: The directory of the container that receives the tree; created if missing. Empty for the root.
    ///   - isContinued: Whether items that exist with the same bytes are skipped, and directories are merged.
    ///   - notify: Called for each item that is left out.
    package init(
        _ scratch: ScratchReplica, into path: String, isContinued: Bool, notify: @escaping (TransferProblem) -> Void
    ) throws(FileError) {
        self.scratch = scratch
        self.isContinued = isContinued
        rule = scratch.syncRule
        destination = try Destination(path, rule)
        sender = TreeSender(scratch, notify: notify)
    }

    /// Uploads the contents of a directory.
    ///
    /// - Throws: ``FileError`` with `exists` and the names when some are taken; then nothing was sent.
    package mutating func run(from path: String) async throws(FileError) -> TransferReport {
        let root = try SourceDirectory(path)
        try await scratch.catchUp()
        do {
            let place = try await destination.find(sender)
            if let existing = place.existing { try await check(root, existing) }
            try await sync.containerGuard.admitCommit()
            let target = try await destination.make(place, &sender, scratch)
            try await walk(root, target)
            try await flush()
        } catch {
            throw ScratchReplica.translated(error)
        }
        return sender.report
    }

    // MARK: Before anything is sent

    /// Checks that every name is free or, when continuing, has the item that it should have.
    private mutating func check(_ root: SourceDirectory, _ target: ItemID) async throws {
        var clashes = NameClashes()
        var rest = [(root, target)]
        while let (directory, parent) = rest.popLast() {
            try Task.checkCancellation()
            for bytes in try directory.names() {
                guard case .success(let name) = try self.name(bytes, in: directory, directory.status(bytes))
                else { continue }
                guard let occupant = try await sender.occupant(name, in: parent) else { continue }
                guard isContinued, let placement = try placement(bytes, in: directory, meeting: occupant) else {
                    clashes.add(directory.path(of: bytes))
                    continue
                }
                switch placement {
                case .free: break
                case .present(let item):
                    if occupant.kind == .directory {
                        rest.append((try directory.directory(bytes), item))
                    } else {
                        presentPaths.insert(ItemPath(directory.path(of: bytes)))
                    }
                case .taken: clashes.add(directory.path(of: bytes))
                }
            }
        }
        try clashes.refuse(isContinued: isContinued)
    }

    /// - Returns: `nil` for an item that is never synced.
    private func placement(
        _ bytes: [UInt8], in directory: SourceDirectory, meeting occupant: ImportConflict.Occupant
    ) throws(FileError) -> ImportConflict? {
        let status = try directory.status(bytes)
        guard status.kind.isSynced else { return nil }
        var content: Content?
        var target: LinkTarget?
        switch status.kind {
        case .file where status.size == occupant.content?.byteCount:
            content = try ChunkScan.content(of: try directory.file(bytes).descriptor)
        case .symbolicLink:
            target = String(validating: try directory.target(of: bytes), as: UTF8.self).map(LinkTarget.init)
        default: break
        }
        return ImportConflict(kind: status.kind, target: target, content: content, meeting: occupant)
    }

    // MARK: Descent

    /// One directory during the descent, with its remaining names.
    private struct Frame {
        let directory: SourceDirectory
        let item: ItemID
        /// Its path in the container.
        let names: [ItemName]
        var rest: ArraySlice<[UInt8]>
    }

    private mutating func walk(_ root: SourceDirectory, _ target: ItemID) async throws {
        var stack = [Frame(directory: root, item: target, names: destination.names, rest: try root.names()[...])]
        while let frame = stack.last {
            try Task.checkCancellation()
            guard let bytes = stack[stack.count - 1].rest.popFirst() else {
                stack.removeLast()
                continue
            }
            do {
                if let inner = try await take(bytes, frame) { stack.append(inner) }
            } catch let error as FileError where error.isOfOneFile {
                sender.report(TransferProblem(.failed, path: frame.directory.path(of: bytes), error.detail))
            }
        }
    }

    /// Adds one item to the batch.
    ///
    /// - Returns: The directory to descend into, if it is one.
    private mutating func take(_ bytes: [UInt8], _ frame: Frame) async throws -> Frame? {
        let directory = frame.directory
        let path = directory.path(of: bytes)
        let status = try directory.status(bytes)
        let name: ItemName
        switch self.name(bytes, in: directory, status) {
        case .success(let found): name = found
        case .failure(let refusal):
            sender.report(TransferProblem(.skipped, path: path, refusal.reason))
            return nil
        }
        if presentPaths.contains(ItemPath(path)) {
            sender.notePresent()
            return nil
        }
        var record = scratch.record(name, in: frame.item, status.kind, mode: status.mode, modified: status.modified)
        switch status.kind {
        case .file:
            try await add(Source(directory: directory, bytes: bytes, record: record), byteCount: status.size)
            return nil
        case .symbolicLink:
            guard let target = String(validating: try directory.target(of: bytes), as: UTF8.self) else {
                sender.report(TransferProblem(.skipped, path: path, "its target is not UTF-8"))
                return nil
            }
            record.target = LinkTarget(target)
            try await add(Source(directory: directory, bytes: bytes, record: record), byteCount: 0)
            return nil
        case .directory:
            let names = frame.names + [name]
            if let refusal = rule.refusal(ofDirectoryAt: names) {
                sender.report(TransferProblem(.skipped, path: path, refusal.reason))
                return nil
            }
            let inner = try directory.directory(bytes)
            let rest = try inner.names()[...]
            if isContinued, let item = try await existingDirectory(name, in: frame.item) {
                return Frame(directory: inner, item: item, names: names, rest: rest)
            }
            record.mode = inner.descriptor.accessList?.mode(status.mode) ?? status.mode
            record.xattrs = try directory.attributes(ofDirectory: bytes)
            try await add(Source(directory: directory, bytes: bytes, record: record), byteCount: 0)
            return Frame(directory: inner, item: record.id, names: names, rest: rest)
        case .fifo, .socket, .characterDevice, .blockDevice:
            sender.report(TransferProblem(.skipped, path: path, "items of its kind are not synced"))
            return nil
        }
    }

    /// A valid name, or why the item is left out.
    private func name(
        _ bytes: [UInt8], in directory: SourceDirectory, _ status: SourceDirectory.Status
    ) -> Result<ItemName, SyncRule.Refusal> {
        // What is imported is there for longer than a temporary file.
        rule.name(
            bytes,
            ItemSample(kind: status.kind, byteCount: status.size, age: .seconds(Int64(Int32.max))) {
                try directory.file(bytes).descriptor.read(byteCount: ItemSample.headByteCount, at: 0)
            })
    }

    private func existingDirectory(_ name: ItemName, in parent: ItemID) async throws -> ItemID? {
        guard let occupant = try await sender.occupant(name, in: parent), occupant.kind == .directory else {
            return nil
        }
        return occupant.item
    }

    // MARK: Batches

    private mutating func add(_ source: Source, byteCount: Int64) async throws {
        if batch.count == TreeSender.itemsPerCommit || batchByteCount >= Self.bytesPerCommit { try await flush() }
        batch.append(source)
        batchByteCount += byteCount
    }

    private mutating func flush() async throws {
        let sources = batch
        batch = []
        batchByteCount = 0
        guard !sources.isEmpty else { return }
        for _ in 0..<Self.batchLimit {
            let (arrivals, problems) = try await read(sources)
            guard case .sent = try await sender.send(arrivals) else { continue }
            problems.forEach { sender.report($0) }
            return
        }
        throw FileError(.busy, "another device keeps condemning the objects of this upload; try again later")
    }

    /// Uploads the bytes of a batch.
    private mutating func read(_ sources: [Source]) async throws -> (arrivals: [Arrival], problems: [TransferProblem]) {
        try await ContentUpload.run(
            replica: sync.replica, store: sync.container.store, environment: sync.context.environment, window: window
        ) { upload in
            defer { window = upload.window }
            return try await read(sources, into: &upload)
        }
    }

    private func read(
        _ sources: [Source], into upload: inout ContentUpload
    ) async throws -> (arrivals: [Arrival], problems: [TransferProblem]) {
        var arrivals: [Arrival] = []
        var problems: [TransferProblem] = []
        for (index, source) in sources.enumerated() {
            var arrival = Arrival(record: source.record, path: source.path)
            if source.record.kind == .file {
                do {
                    arrival.record = try await read(source, as: Self.number(index), into: &upload)
                } catch let error as FileError where error.isOfOneFile {
                    problems.append(TransferProblem(.failed, path: source.path, error.detail))
                    continue
                }
                // The places of its chunks are known once the last pack is sent.
                arrival.content = .empty
            }
            arrivals.append(arrival)
        }
        try await upload.finish()
        let numbers = Dictionary(
            uniqueKeysWithValues: sources.enumerated().map { ($1.record.id, Self.number($0)) })
        for index in arrivals.indices where arrivals[index].content != nil {
            guard let number = numbers[arrivals[index].record.id] else { continue }
            arrivals[index].content = try upload.content(of: number)
        }
        return (arrivals, problems)
    }

    /// The key of a file within an upload.
    private static func number(_ index: Int) -> InodeNumber { InodeNumber(UInt64(index)) }

    /// Reads one file, again when it changes meanwhile.
    private func read(
        _ source: Source, as number: InodeNumber, into upload: inout ContentUpload
    ) async throws -> ItemRecord {
        for _ in 0..<Self.readLimit {
            let (file, before) = try source.directory.file(source.bytes)
            guard before.kind == .file else { throw FileError(.superseded, "it is no longer a file") }
            do {
                try await upload.add(number, from: file)
            } catch let error as FileError where error.code == .superseded {
                continue
            }
            guard SourceDirectory.Status(try file.status()) == before else { continue }
            var record = source.record
            record.mode = file.accessList?.mode(before.mode) ?? before.mode
            record.modified = before.modified
            record.xattrs = try SourceDirectory.attributes(of: file)
            return record
        }
        throw FileError(.superseded, "it kept changing while it was read, and was left out")
    }
}

extension FileError {
    /// Whether the next file of the tree may succeed.
    var isOfOneFile: Bool {
        switch code {
        case .notFound, .denied, .notPermitted, .superseded, .inputOutput, .notDirectory, .isDirectory, .invalid,
            .unsupported,
            .nameTooLong, .badName:
            true
        default: false
        }
    }
}

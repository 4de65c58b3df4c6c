package import Model
import Remote
import Replica
import Sync
import Synchronization
import Linux

/// Rebuilds the tree of a container in a directory, without a mount: the state of the newest commit, every chunk
/// verified.
///
/// Files that cannot be read are reported and left out, and the export continues. Bytes are streamed from the store
/// into the files; memory holds the chunks in transit and the chunk lists of the files in progress.
package final class Export: Sendable {
    /// How many files are fetched at a time, and how many ranges of one file.
    static let fileWidth = 8
    static let batchWidth = 4
    /// How many names are read from the index at a time.
    static let listLimit = 1000
    /// How many files in a row may fail because the store does not answer before the export gives up.
    static let silenceLimit = 16

    private let scratch: ScratchReplica
    private let reader: ChunkReader
    private let manifests: ManifestStore
    private let notify: @Sendable (TransferProblem) -> Void
    private let state = Mutex(State())

    private struct State {
        var report = TransferReport()
        var unansweredCount = 0
    }

    /// - Parameter notify: Called, on any thread, for each item that is left out.
    package init(_ scratch: ScratchReplica, notify: @escaping @Sendable (TransferProblem) -> Void) {
        self.scratch = scratch
        let store = scratch.sync.container.store
        reader = ChunkReader(windows: PackWindows(packs: PackStore(store: store)))
        manifests = ManifestStore(store: store)
        self.notify = notify
    }

    private var sync: SyncEngine { scratch.sync }

    /// The progress so far.
    package var progress: TransferReport { state.withLock { $0.report } }

    /// - Parameter path: A directory that is created, or that exists and is empty.
    /// - Throws: ``FileError`` with `notEmpty`; `diskFull`; `unreachable` when the store no longer answers.
    package func run(into path: String) async throws(FileError) -> TransferReport {
        let root = try OutputDirectory(root: path) { [self] problem in report(problem) }
        try await catchUp()
        try await ScratchReplica.translating { try await write(root) }
        root.end()
        try root.synchronize()
        return progress
    }

    /// If the log is damaged in the middle, the state before the damage is exported.
    private func catchUp() async throws(FileError) {
        do throws(FileError) {
            try await scratch.catchUp()
        } catch {
            guard error.code == .corrupt, sync.replica.applied > 0 else { throw error }
            let reason =
                "this is the state after commit \(sync.replica.applied), since the log is damaged behind it: "
            report(TransferProblem(.failed, path: "", reason + error.detail))
        }
    }

    private func report(_ problem: TransferProblem) {
        state.withLock { $0.report.count(problem.kind) }
        notify(problem)
    }

    // MARK: The tree

    /// One directory during the descent, with its names.
    private struct Frame {
        let inode: InodeNumber
        let output: OutputDirectory
        var batch: ArraySlice<Child> = []
        var last: ItemName?
        var isListed = false

        mutating func next(_ replica: Replica) throws(FileError) -> Child? {
            if batch.isEmpty, !isListed {
                let children = try replica.read { try $0.children(of: inode, after: last, limit: Export.listLimit) }
                isListed = children.count < Export.listLimit
                batch = children[...]
                last = children.last?.name
            }
            return batch.popFirst()
        }
    }

    private func write(_ root: OutputDirectory) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var stack = [Frame(inode: .root, output: root)]
            root.begin()
            var running = 0
            while !stack.isEmpty {
                try Task.checkCancellation()
                let output = stack[stack.count - 1].output
                guard let child = try stack[stack.count - 1].next(sync.replica) else {
                    stack.removeLast()
                    output.end()
                    continue
                }
                switch child.attributes.kind {
                case .directory:
                    if let inner = try makeDirectory(child, in: output) {
                        stack.append(Frame(inode: child.attributes.inode, output: inner))
                    }
                case .symbolicLink:
                    try makeLink(child, in: output)
                case .file:
                    if running == Self.fileWidth {
                        try await group.next()
                        running -= 1
                    }
                    running += 1
                    output.begin()
                    group.addTask { [self] in
                        defer { output.end() }
                        try await writeFile(child, in: output)
                    }
                case .fifo, .socket, .characterDevice, .blockDevice:
                    // They are never synced, so no container has them.
                    break
                }
            }
            try await group.waitForAll()
        }
    }

    private func makeDirectory(_ child: Child, in output: OutputDirectory) throws(FileError) -> OutputDirectory? {
        let inner = try attempt(output.path(of: child.name.string)) { () throws(FileError) in
            try output.makeDirectory(child.name.string, try metadata(of: child.attributes))
        }
        if inner != nil { state.withLock { $0.report.directoryCount += 1 } }
        return inner
    }

    private func makeLink(_ child: Child, in output: OutputDirectory) throws(FileError) {
        let isMade: Void? = try attempt(output.path(of: child.name.string)) { () throws(FileError) in
            try output.makeLink(
                child.name.string,
                target: try sync.replica.read { try $0.inode(child.attributes.inode).target?.string } ?? "",
                try metadata(of: child.attributes))
        }
        if isMade != nil { state.withLock { $0.report.linkCount += 1 } }
    }

    private func metadata(of attributes: Attributes) throws(FileError) -> OutputDirectory.Metadata {
        let xattrs = try sync.replica.read { rows in
            try rows.xattrNames(of: attributes.inode).map {
                (name: $0, value: try rows.xattr($0, of: attributes.inode))
            }
        }
        return .init(mode: attributes.mode, modified: attributes.modified, xattrs: xattrs)
    }

    /// - Returns: `nil` when it failed, which is reported.
    /// - Throws: Errors that would also affect everything that follows.
    private func attempt<Value>(_ path: String, _ body: () throws(FileError) -> Value) throws(FileError) -> Value? {
        do throws(FileError) {
            return try body()
        } catch {
            guard error.code != .diskFull else { throw error }
            report(TransferProblem(.failed, path: path, error.detail))
            return nil
        }
    }

    // MARK: Files

    private func writeFile(_ child: Child, in output: OutputDirectory) async throws {
        let directory = try parent(of: child)
        let entry = try sync.replica.read { try $0.existingEntry(child.name, in: directory) }
        let metadata = try metadata(of: child.attributes)
        let inode = try sync.replica.read { try $0.inode(child.attributes.inode) }
        do throws(FileError) {
            let isWritten = try await writeBytes(child.name.string, in: output, metadata, size: child.attributes.size) {
                if let content = try inode.content { return content }
                // Its manifest could not be read when the record was applied: report that now.
                guard let base = entry.base, let reference = base.content else {
                    throw FileError(.corrupt, "the container does not have its bytes")
                }
                return try await self.manifests.get(reference, size: base.size)
            }
            if isWritten { state.withLock { $0.report.fileCount += 1 } }
        } catch {
            // For example on a case-insensitive file system.
            guard error.code == .exists else { throw error }
            report(TransferProblem(.failed, path: output.path(of: child.name.string), error.detail))
        }
        for version in entry.conflicts { try await writeConflict(version, of: child, metadata.mode, in: output) }
    }

    private func parent(of child: Child) throws(FileError) -> InodeNumber {
        guard let entry = try sync.replica.read({ try $0.entries(of: child.attributes.inode).first }) else {
            throw FileError(.notFound, child.name.string)
        }
        return entry.parent
    }

    /// Places a losing version beside its file, under a name that is free.
    private func writeConflict(
        _ version: ConflictVersion, of child: Child, _ mode: UInt16, in output: OutputDirectory
    ) async throws {
        let directory = try parent(of: child)
        for number in 1...ConflictFileName.attemptLimit {
            let name = ConflictFileName.candidate(for: version, of: child.name, number: number)
            guard try !isTaken(name, in: directory) else { continue }
            let metadata = OutputDirectory.Metadata(mode: mode, modified: version.modified, xattrs: [])
            do throws(FileError) {
                let isWritten = try await writeBytes(name, in: output, metadata, size: version.size) {
                    try await self.manifests.get(version.content, size: version.size)
                }
                if isWritten { state.withLock { $0.report.conflictCount += 1 } }
                return
            } catch {
                // Another version of the same second.
                guard error.code == .exists else { throw error }
            }
        }
    }

    private func isTaken(_ name: String, in directory: InodeNumber) throws(FileError) -> Bool {
        try sync.replica.read { try $0.entry(ItemName(name), in: directory) } != nil
    }

    /// Writes one file.
    /// - Returns: Whether it is complete; otherwise the reason is reported, and the partial file is removed.
    /// - Throws: `exists` when the name is taken, and errors that would also affect every other file.
    private func writeBytes(
        _ name: String, in output: OutputDirectory, _ metadata: OutputDirectory.Metadata, size: Int64,
        content: () async throws -> Content
    ) async throws(FileError) -> Bool {
        let file: Descriptor
        do throws(FileError) { file = try output.makeFile(name) } catch {
            guard error.code != .exists, error.code != .diskFull else { throw error }
            report(TransferProblem(.failed, path: output.path(of: name), error.detail))
            return false
        }
        do throws(FileError) {
            try await ScratchReplica.translating {
                let content = try await self.scratch.persistently { try await content() }
                guard content.byteCount == size else {
                    throw FileError(.corrupt, "the total size of its chunks is \(content.byteCount), not \(size)")
                }
                try file.truncate(to: size)
                try await self.copy(content, to: file)
            }
            try output.finish(name, file, metadata)
        } catch {
            output.remove(name)
            try judge(error, output.path(of: name))
            return false
        }
        state.withLock { state in
            state.unansweredCount = 0
            state.report.byteCount += size
        }
        return true
    }

    /// Reports the error of a file, unless it would affect all others too.
    private func judge(_ error: FileError, _ path: String) throws(FileError) {
        switch error.code {
        case .diskFull, .cancelled: throw error
        case .unreachable:
            let isSilent = state.withLock { state in
                state.unansweredCount += 1
                return state.unansweredCount >= Self.silenceLimit
            }
            guard !isSilent else { throw error }
        default: break
        }
        report(TransferProblem(.failed, path: path, error.detail))
    }

    /// Fetches all chunks, a few ranges at a time; holes stay holes.
    private func copy(_ content: Content, to file: Descriptor) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var offset: Int64 = 0
            var running = 0
            // Run by run: a hole of terabytes would be as many pieces.
            for run in content.runs {
                let start = offset
                offset += run.byteCount
                guard case .stored = run else { continue }
                let pieces = Array(Content(runs: [run]).pieces)
                for batch in ChunkReader.batches(of: pieces) {
                    if running == Self.batchWidth {
                        try await group.next()
                        running -= 1
                    }
                    running += 1
                    group.addTask { [self] in
                        try await scratch.persistently {
                            try await self.reader.fetch(pieces: pieces[batch]) { piece, bytes in
                                try file.write(bytes, at: start + piece.fileOffset)
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

package import Model
package import Remote
import Sync
package import Linux

/// The bytes of a version: the local ones, or those in the container, verified.
package struct VersionBytes: Sendable {
    /// The most bytes read from the disk at a time: 256 KiB.
    static let pieceByteCount = 256 << 10

    package enum Source: Sendable {
        case local(Descriptor)
        case stored(Content)
    }

    package let byteCount: Int64
    private let source: Source
    private let reader: ChunkReader
    private let context: DownloadContext
    /// How many bytes were returned.
    private var offset: Int64 = 0
    /// What was fetched and not returned yet.
    private var fetched: ArraySlice<[UInt8]> = []
    /// Zeros to return after that.
    private var zeroCount: Int64 = 0
    private var nextRun = 0
    /// The pieces of the current run, and its batches that remain.
    private var pieces = Content(runs: []).pieces
    private var batches: ArraySlice<Range<Int>> = []

    package init(_ source: Source, byteCount: Int64, reader: ChunkReader, context: DownloadContext) {
        self.source = source
        self.byteCount = byteCount
        self.reader = reader
        self.context = context
    }

    /// Fetches the first bytes in advance, so that a store that does not answer is an error rather than an end.
    ///
    /// - Throws: ``FileError``, like a read that waits for a download.
    package mutating func begin() async throws(FileError) {
        if case .stored(let content) = source { try await fill(content) }
    }

    /// The next bytes; `nil` at the end. At most ``ChunkReader/batchByteLimit`` are in memory.
    package mutating func next() async throws(FileError) -> [UInt8]? {
        let bytes: [UInt8]?
        switch source {
        case .local(let descriptor): bytes = try read(descriptor)
        case .stored(let content): bytes = try await take(content)
        }
        offset += Int64(bytes?.count ?? 0)
        return bytes
    }

    private func read(_ descriptor: Descriptor) throws(FileError) -> [UInt8]? {
        guard offset < byteCount else { return nil }
        let bytes = try descriptor.read(
            byteCount: Int(min(byteCount - offset, Int64(Self.pieceByteCount))), at: offset)
        guard !bytes.isEmpty else { throw FileError(.superseded, "the file became shorter while it was read") }
        return bytes
    }

    private mutating func take(_ content: Content) async throws(FileError) -> [UInt8]? {
        try await fill(content)
        if let bytes = fetched.popFirst() { return bytes }
        guard zeroCount > 0 else { return nil }
        let count = min(zeroCount, Int64(Self.pieceByteCount))
        zeroCount -= count
        return [UInt8](repeating: 0, count: Int(count))
    }

    /// Fetches the next batch, or comes to the next hole, when nothing is left to return.
    private mutating func fill(_ content: Content) async throws(FileError) {
        while fetched.isEmpty, zeroCount == 0 {
            if let batch = batches.popFirst() {
                fetched = try await fetch(Array(pieces[batch])[...])[...]
                continue
            }
            guard nextRun < content.runs.count else { return }
            let run = content.runs[nextRun]
            nextRun += 1
            guard case .stored = run else {
                zeroCount = run.byteCount
                continue
            }
            pieces = Content(runs: [run]).pieces
            batches = ChunkReader.batches(of: pieces)[...]
        }
    }

    /// Fetches one batch, in the order of the pieces; gives up like a download when nothing arrives for long.
    private func fetch(_ pieces: ArraySlice<Content.Piece>) async throws(FileError) -> [[UInt8]] {
        try await VersionFetch(context).run { [reader] in
            var arrived: [Int: [UInt8]] = [:]
            // A damaged chunk comes last.
            try await reader.fetch(pieces: pieces) { piece, bytes in arrived[piece.index] = bytes }
            return pieces.compactMap { arrived[$0.index] }
        }
    }
}

/// A request to the store on behalf of a caller that waits, for no longer than a reader would.
package struct VersionFetch: Sendable {
    private let context: DownloadContext

    package init(_ context: DownloadContext) { self.context = context }

    /// - Throws: ``FileError`` with `unreachable` when the store does not answer.
    package func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws(FileError)
        -> Value
    {
        do {
            return try await withThrowingTaskGroup(of: Value?.self) { group in
                group.addTask { try await body() }
                group.addTask {
                    try await watch()
                    return nil
                }
                defer { group.cancelAll() }
                guard let first = try await group.next(), let value = first else { throw Self.silence }
                return value
            }
        } catch let error as FileError {
            throw error
        } catch let error as StoreError {
            throw error.fileError
        } catch {
            throw FileError(.interrupted, "the wait was interrupted", cause: error)
        }
    }

    private static let silence = FileError(.unreachable, "the store does not answer")

    /// Returns when nothing can be expected any more.
    private func watch() async throws {
        let start = context.environment.uptime()
        repeat {
            try await context.environment.sleep(DownloadRetry.watchPause)
        } while !context.retry.isGivenUp(
            after: context.environment.uptime() - start, isStoreSilent: context.store.isSilent)
    }
}

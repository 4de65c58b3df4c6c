import Model
import Remote
import Sync

/// Reads an object beside the container for the hashes of its chunks. One chunk at a time is in memory.
struct NeighbourScan: Sendable {
    private let scratch: ScratchReplica

    init(_ scratch: ScratchReplica) { self.scratch = scratch }

    /// - Returns: The chunks in order, not in a pack yet; or why this object is unavailable.
    /// - Throws: Errors that would also affect every other object.
    func read(_ object: NeighbourObject) async throws -> Result<[Content.Piece], FileError> {
        guard object.byteCount <= Content.byteLimit else {
            return .failure(FileError(.tooLarge, "it exceeds the size limit of an item"))
        }
        do {
            for _ in 0..<Adoption.readLimit {
                let pieces = try await scratch.persistently { try await scan(object) }
                // The object changed since it was listed: the chunks may be of both versions.
                let now = try await scratch.persistently { [store] in
                    try await store.head(.neighbour(object.key)).neighbour
                }
                if now == object, let pieces { return .success(pieces) }
            }
            return .failure(FileError(.superseded, "it was changed while it was read"))
        } catch let error as StoreError where [.notFound, .denied, .invalid, .corrupt].contains(error.code) {
            let reason = error.code == .notFound ? "it was removed while it was read" : error.detail
            return .failure(FileError(error.fileError.code, reason))
        }
    }

    private var store: any ObjectStore { scratch.sync.container.store }

    /// - Returns: `nil` when its length differs from the listing.
    private func scan(_ object: NeighbourObject) async throws -> [Content.Piece]? {
        guard object.byteCount > 0 else { return [] }
        let stream = try await store.get(.neighbour(object.key), range: nil)
        var pieces: [Content.Piece] = []
        var buffer: [UInt8] = []
        buffer.reserveCapacity(Content.chunkByteCount)
        var byteCount: Int64 = 0
        while let arrived = try await stream.next() {
            try Task.checkCancellation()
            byteCount += Int64(arrived.count)
            guard byteCount <= object.byteCount else { return nil }
            var rest = arrived[...]
            while !rest.isEmpty {
                let part = rest.prefix(Content.chunkByteCount - buffer.count)
                buffer.append(contentsOf: part)
                rest = rest.dropFirst(part.count)
                guard buffer.count == Content.chunkByteCount else { continue }
                pieces.append(Self.piece(buffer, index: pieces.count))
                buffer.removeAll(keepingCapacity: true)
            }
        }
        if !buffer.isEmpty { pieces.append(Self.piece(buffer, index: pieces.count)) }
        return byteCount == object.byteCount ? pieces : nil
    }

    private static func piece(_ bytes: [UInt8], index: Int) -> Content.Piece {
        let isHole = bytes.count == Content.chunkByteCount && bytes.allSatisfy { $0 == 0 }
        let stored =
            isHole
            ? nil
            : Content.Piece.Stored(
                hash: ChunkHash(hashing: bytes), pack: .root, offset: 0, head: ChunkHash(headOf: bytes, index: index))
        return Content.Piece(index: index, byteCount: bytes.count, stored: stored)
    }
}

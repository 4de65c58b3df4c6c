package import Foundation

/// The bytes of a file, as a list of chunks grouped in runs.
///
///     content   = run run run …            in file order, no gaps
///     run       = pack, offset, chunks     adjacent chunks in one pack; one ranged GET fetches them
///               | zeros of a byte count    a hole: nothing is stored, nothing is sent
///     chunk     = SHA-256, byte count      the unit of verification
///                 [SHA-256 of its head]    so that a reader of the first bytes need not wait for all of it
///
/// Every chunk but the last of a file is ``chunkByteCount`` long, and a hole is a multiple of it unless it ends the
/// file, so chunk `n` starts at byte `n * chunkByteCount` and an edit in place changes only the chunks it touches.
package struct Content: Hashable, Sendable, Codable {
    /// The length of every chunk but a file's last: 1 MiB.
    package static let chunkByteCount = 1 << 20
    /// The length of a chunk's head: 64 KiB.
    package static let headByteCount = 64 << 10

    package struct Chunk: Hashable, Sendable {
        package let hash: ChunkHash
        /// 1 to ``Content/chunkByteCount``.
        package let byteCount: Int
        /// The hash of its first ``Content/headByteCount`` bytes, if its writer recorded it.
        package let head: ChunkHash?

        package init(hash: ChunkHash, byteCount: Int, head: ChunkHash? = nil) {
            self.hash = hash
            self.byteCount = byteCount
            self.head = head
        }
    }

    package enum Run: Hashable, Sendable {
        /// Adjacent chunks in `pack`, from byte `offset` of it.
        case stored(pack: PackID, offset: Int64, chunks: [Chunk])
        /// Zero bytes that are stored nowhere.
        case zeros(byteCount: Int64)

        package var isData: Bool {
            switch self {
            case .stored: true
            case .zeros: false
            }
        }

        /// How many chunks it lists; a hole has none.
        package var chunkCount: Int {
            switch self {
            case .stored(_, _, let chunks): chunks.count
            case .zeros: 0
            }
        }

        package var byteCount: Int64 {
            switch self {
            case .stored(_, _, let chunks): chunks.reduce(0) { $0 + Int64($1.byteCount) }
            case .zeros(let byteCount): byteCount
            }
        }
    }

    package let runs: [Run]

    package init(runs: [Run]) { self.runs = runs }

    package static let empty = Content(runs: [])

    /// The length of the file in bytes.
    package var byteCount: Int64 { runs.reduce(0) { $0 + $1.byteCount } }
}

/// The id of a pack: the object `packs/UUID`.
package typealias PackID = ItemID

extension PackID {
    /// An id for a pack whose bytes are those of an object beside the container: `adopted/UUID` names the object.
    package static func adopted(_ random: UUID) -> PackID {
        var bytes = random.uuid
        bytes.6 = bytes.6 & 0x0f | 0x80
        bytes.8 = bytes.8 & 0x3f | 0x80
        return PackID(uuid: UUID(uuid: bytes))
    }

    /// Whether it may be one of ``adopted(_:)``: it has version 8 (RFC 9562), which other packs have only by chance.
    package var mayBeAdopted: Bool { uuid.uuid.6 >> 4 == 8 && uuid.uuid.8 >> 6 == 2 }
}

extension Content.Chunk: Codable {
    private enum CodingKeys: String, CodingKey { case hash, byteCount, head }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            hash: try container.decode(ChunkHash.self, forKey: .hash),
            byteCount: try container.decode(Int.self, forKey: .byteCount),
            // Optional: a reader that does not know it, or finds another value, uses the hash of the whole.
            head: try? container.decodeIfPresent(ChunkHash.self, forKey: .head))
    }
}

extension Content.Run: Codable {
    private enum CodingKeys: String, CodingKey { case pack, offset, chunks, zeros }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let byteCount = try container.decodeIfPresent(Int64.self, forKey: .zeros) {
            self = .zeros(byteCount: byteCount)
        } else {
            self = .stored(
                pack: try container.decode(PackID.self, forKey: .pack),
                offset: try container.decode(Int64.self, forKey: .offset),
                chunks: try container.decode([Content.Chunk].self, forKey: .chunks))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .stored(let pack, let offset, let chunks):
            try container.encode(pack, forKey: .pack)
            try container.encode(offset, forKey: .offset)
            try container.encode(chunks, forKey: .chunks)
        case .zeros(let byteCount):
            try container.encode(byteCount, forKey: .zeros)
        }
    }
}

extension Content {
    /// One chunk of a file with its place, in the file and in a pack.
    package struct Piece: Hashable, Sendable {
        /// The number of the chunk: it starts at byte `index * chunkByteCount` of the file.
        package let index: Int
        package let byteCount: Int
        /// The place of the bytes, or `nil` for zeros.
        package let stored: Stored?

        package struct Stored: Hashable, Sendable {
            package let hash: ChunkHash
            package let pack: PackID
            package let offset: Int64
            /// Of its first ``Content/headByteCount`` bytes, if known.
            package let head: ChunkHash?

            package init(hash: ChunkHash, pack: PackID, offset: Int64, head: ChunkHash? = nil) {
                self.hash = hash
                self.pack = pack
                self.offset = offset
                self.head = head
            }
        }

        package init(index: Int, byteCount: Int, stored: Stored?) {
            self.index = index
            self.byteCount = byteCount
            self.stored = stored
        }

        package var fileOffset: Int64 { Int64(index) * Int64(Content.chunkByteCount) }
    }

    /// The chunks in file order, holes cut into chunks too.
    package var pieces: Pieces { Pieces(runs: runs) }

    /// Groups pieces in file order into the fewest runs.
    package init(pieces: some Sequence<Piece>) {
        var runs: [Run] = []
        for piece in pieces {
            switch (runs.last, piece.stored) {
            case (.zeros(let byteCount), nil):
                runs[runs.count - 1] = .zeros(byteCount: byteCount + Int64(piece.byteCount))
            case (_, nil):
                runs.append(.zeros(byteCount: Int64(piece.byteCount)))
            case (.stored(let pack, let offset, var chunks)?, let stored?)
            where pack == stored.pack && offset + runs[runs.count - 1].byteCount == stored.offset:
                chunks.append(Chunk(hash: stored.hash, byteCount: piece.byteCount, head: stored.head))
                runs[runs.count - 1] = .stored(pack: pack, offset: offset, chunks: chunks)
            case (_, let stored?):
                runs.append(
                    .stored(
                        pack: stored.pack, offset: stored.offset,
                        chunks: [Chunk(hash: stored.hash, byteCount: piece.byteCount, head: stored.head)]))
            }
        }
        self.init(runs: runs)
    }

    /// Whether the two have the same bytes: the same chunks in the same order, wherever they are stored.
    package func hasSameBytes(as other: Content) -> Bool {
        func identity(_ piece: Piece) -> (Int, ChunkHash?) { (piece.byteCount, piece.stored?.hash) }
        if runs == other.runs { return true }
        return byteCount == other.byteCount && pieces.elementsEqual(other.pieces) { identity($0) == identity($1) }
    }
}

package import Model
import Remote
package import Linux

/// Cuts a local file into chunks, in order. Holes are not read: a sparse file of a terabyte costs only what its data
/// costs.
package struct ChunkScan {
    package struct Chunk {
        package let byteCount: Int
        /// `nil` for a whole chunk of zeros.
        package let bytes: [UInt8]?
    }

    private let descriptor: Descriptor
    private let byteCount: Int64
    private var offset: Int64 = 0
    private var data: (start: Int64, end: Int64) = (0, 0)

    package init(_ descriptor: Descriptor) throws(FileError) {
        self.descriptor = descriptor
        byteCount = try descriptor.status().size
    }

    /// - Throws: ``FileError`` with `superseded` when the file was truncated meanwhile.
    package mutating func next() throws(FileError) -> Chunk? {
        guard offset < byteCount else { return nil }
        let wanted = Int(min(Int64(Content.chunkByteCount), byteCount - offset))
        let isWhole = wanted == Content.chunkByteCount
        if offset >= data.end { data = try descriptor.dataExtent(from: offset, byteCount: byteCount) }
        let start = offset
        offset += Int64(wanted)
        if isWhole, offset <= data.start { return Chunk(byteCount: wanted, bytes: nil) }
        let bytes = try descriptor.read(byteCount: wanted, at: start)
        // A file that shrank during the read has changed, and is read again.
        guard bytes.count == wanted else { throw FileError(.superseded, "the file changed while it was read") }
        return Chunk(byteCount: wanted, bytes: isWhole && bytes.allSatisfy { $0 == 0 } ? nil : bytes)
    }

    /// The chunks of a whole file with their hashes, stored nowhere: for comparison with stored content.
    package static func content(of descriptor: Descriptor) throws(FileError) -> Content {
        var scan = try ChunkScan(descriptor)
        var pieces: [Content.Piece] = []
        while let chunk = try scan.next() {
            let stored = chunk.bytes.map { bytes in
                Content.Piece.Stored(hash: ChunkHash(hashing: bytes), pack: .root, offset: 0)
            }
            var byteCount = chunk.byteCount
            // A hole is one piece here, however long it is: the length of its run is what counts.
            if stored == nil, let last = pieces.last, last.stored == nil {
                byteCount += last.byteCount
                pieces.removeLast()
            }
            pieces.append(Content.Piece(index: pieces.count, byteCount: byteCount, stored: stored))
        }
        return Content(pieces: pieces)
    }
}

import Foundation
import Glibc
import Linux
import Model
import Remote

/// Seals the bytes of one object, which come in pieces of any size.
struct BodySealing {
    private let header: SealedHeader
    private let key: String
    private var index: Int64 = 0
    /// What does not fill a segment yet.
    private var buffer: [UInt8] = []

    init(key: String, byteCount: Int64, salt: [UInt8], keys: SealingKeys) throws(StoreError) {
        header = try SealedHeader(key: key, byteCount: byteCount, salt: salt, keys: keys)
        self.key = key
    }

    var sealedByteCount: Int64 { header.layout.sealedByteCount }

    /// Seals a whole body.
    ///
    /// - Parameters:
    ///   - start: Bytes that are sealed with it, before it; they count as part of the object.
    ///   - emit: Takes the sealed object in pieces.
    mutating func seal(
        _ body: Body, after start: [UInt8], _ emit: (Data) throws(StoreError) -> Void
    ) throws(StoreError) {
        try emit(Data(header.bytes))
        // Closures cannot change what they were not given.
        var sealing = self
        try Body.bytes(start).forEachPiece(key: key) { piece throws(StoreError) in try sealing.take(piece, emit) }
        try body.forEachPiece(key: key) { piece throws(StoreError) in try sealing.take(piece, emit) }
        let zeros = [UInt8](repeating: 0, count: Int(SealedLayout.segmentByteCount))
        var left = header.layout.paddedByteCount - header.layout.byteCount
        while left > 0 {
            let count = Int(min(left, Int64(zeros.count)))
            let result = zeros.withUnsafeBytes { zeros in
                Result { () throws(StoreError) in try sealing.take(.init(rebasing: zeros[..<count]), emit) }
            }
            try result.get()
            left -= Int64(count)
        }
        try emit(header.cipher.seal(sealing.buffer, .segment(sealing.index, isLast: true), key: key))
    }

    private mutating func take(
        _ piece: UnsafeRawBufferPointer, _ emit: (Data) throws(StoreError) -> Void
    ) throws(StoreError) {
        var rest = piece[...]
        let full = Int(SealedLayout.segmentByteCount)
        // The last segment is sealed at the end, full or not.
        while buffer.count + rest.count > full {
            if buffer.isEmpty {
                try seal(UnsafeRawBufferPointer(rebasing: rest.prefix(full)), emit)
                rest = rest.dropFirst(full)
            } else {
                let count = full - buffer.count
                buffer.append(contentsOf: rest.prefix(count))
                rest = rest.dropFirst(count)
                try seal(buffer, emit)
                buffer.removeAll(keepingCapacity: true)
            }
        }
        buffer.append(contentsOf: rest)
    }

    /// - Parameter segment: A full one, and not the last.
    private mutating func seal(
        _ segment: some DataProtocol, _ emit: (Data) throws(StoreError) -> Void
    ) throws(StoreError) {
        try emit(header.cipher.seal(segment, .segment(index, isLast: false), key: key))
        index += 1
    }
}

extension Body {
    /// The length of the pieces of a sealed pack: that of its chunks, 1 MiB, with what sealing adds.
    private static let sealedPieceByteCount = (1 << 20) + SealedHeader.byteCount + 16 * Int(SealedLayout.tagByteCount)

    /// The body as it is stored. Blocks where it is a file.
    func sealed(
        after start: [UInt8] = [], key: String, salt: [UInt8], keys: SealingKeys
    ) throws(StoreError) -> Body {
        var sealing = try BodySealing(
            key: key, byteCount: Int64(start.count) + byteCount, salt: salt, keys: keys)
        switch self {
        case .pieces:
            // A pack is sent as it is sealed: as one array, it would be new memory from the kernel each time. Not segment
            // by segment either, each of which would pass through all layers by itself.
            var pieces: [[UInt8]] = []
            var left = Int(sealing.sealedByteCount)
            var piece: [UInt8] = []
            try sealing.seal(self, after: start) { sealed throws(StoreError) in
                if piece.count + sealed.count > Self.sealedPieceByteCount {
                    pieces.append(piece)
                    piece = []
                }
                if piece.isEmpty { piece.reserveCapacity(min(left, Self.sealedPieceByteCount)) }
                sealed.withUnsafeBytes { piece.append(contentsOf: $0) }
                left -= sealed.count
            }
            pieces.append(piece)
            return .pieces(pieces)
        case .bytes:
            var sealed: [UInt8] = []
            sealed.reserveCapacity(Int(sealing.sealedByteCount))
            try sealing.seal(self, after: start) { piece throws(StoreError) in sealed += piece }
            return .bytes(sealed)
        case .file(let path, _):
            return try sealing.seal(self, after: start, in: URL(filePath: path).deletingLastPathComponent().path)
        case .nameless(let file, _):
            return try sealing.seal(self, after: start, in: file.directory)
        }
    }
}

extension BodySealing {
    /// Seals a body that may be too long for the memory.
    ///
    /// - Parameter directory: A directory with room for it.
    fileprivate mutating func seal(
        _ body: Body, after start: [UInt8], in directory: String
    ) throws(StoreError) -> Body {
        let key = key
        let target = try Self.local(key) { () throws(FileError) in try NamelessFile(in: directory) }
        try seal(body, after: start) { piece throws(StoreError) in
            try Self.local(key) { () throws(FileError) in
                try Array(piece).withBytes { bytes throws(FileError) in try target.file.append(bytes) }
            }
        }
        return .nameless(target, byteCount: sealedByteCount)
    }

    private static func local<Value>(_ key: String, _ work: () throws(FileError) -> Value) throws(StoreError) -> Value {
        do throws(FileError) { return try work() } catch {
            // It may work later, when there is space again, say.
            throw StoreError(.unavailable, key: key, "cannot be sealed here: \(error)")
        }
    }
}

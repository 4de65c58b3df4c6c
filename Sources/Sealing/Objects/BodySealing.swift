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

/// A body that was sealed, and the file that it is in.
struct SealedBody: Sendable {
    let body: Body
    /// Without a name, so that nothing of it is left after a crash: it is read as long as this is open.
    private let file: Descriptor?

    /// The length of the pieces of a sealed pack: that of its chunks, 1 MiB, with what sealing adds.
    private static let pieceByteCount = (1 << 20) + SealedHeader.byteCount + 16 * Int(SealedLayout.tagByteCount)

    /// To be called when the body was sent.
    func keepOpen() { withExtendedLifetime(file) {} }

    /// Blocks where the body is a file.
    static func make(
        _ body: Body, after start: [UInt8] = [], key: String, salt: [UInt8], keys: SealingKeys
    ) throws(StoreError) -> SealedBody {
        var sealing = try BodySealing(
            key: key, byteCount: Int64(start.count) + body.byteCount, salt: salt, keys: keys)
        switch body {
        case .pieces:
            // A pack is sent as it is sealed: as one array, it would be new memory from the kernel each time. Not segment
            // by segment either, each of which would pass through all layers by itself.
            var pieces: [[UInt8]] = []
            var left = Int(sealing.sealedByteCount)
            var piece: [UInt8] = []
            try sealing.seal(body, after: start) { sealed throws(StoreError) in
                if piece.count + sealed.count > pieceByteCount {
                    pieces.append(piece)
                    piece = []
                }
                if piece.isEmpty { piece.reserveCapacity(min(left, pieceByteCount)) }
                sealed.withUnsafeBytes { piece.append(contentsOf: $0) }
                left -= sealed.count
            }
            pieces.append(piece)
            return SealedBody(body: .pieces(pieces), file: nil)
        case .bytes:
            var sealed: [UInt8] = []
            sealed.reserveCapacity(Int(sealing.sealedByteCount))
            try sealing.seal(body, after: start) { piece throws(StoreError) in sealed += piece }
            return SealedBody(body: .bytes(sealed), file: nil)
        case .file(let path, _):
            let file: Descriptor
            do throws(FileError) { file = try unnamedFile(beside: path) } catch { throw failure(error, key) }
            try sealing.seal(body, after: start) { piece throws(StoreError) in
                do throws(FileError) {
                    try Array(piece).withBytes { bytes throws(FileError) in try file.append(bytes) }
                } catch {
                    throw failure(error, key)
                }
            }
            return SealedBody(
                body: .file(path: "/proc/self/fd/\(file.rawValue)", range: 0..<sealing.sealedByteCount), file: file)
        }
    }

    private static func failure(_ error: FileError, _ key: String) -> StoreError {
        // It may work later, when there is space again, say.
        StoreError(.unavailable, key: key, "cannot be sealed here: \(error)")
    }

    private static func unnamedFile(beside path: String) throws(FileError) -> Descriptor {
        let name = "\(path).sealed-\(UUID().uuidString.lowercased())"
        let file = try Descriptor(name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        try SystemCalls.check("unlink", as: name) { unlink(name) }
        return file
    }
}

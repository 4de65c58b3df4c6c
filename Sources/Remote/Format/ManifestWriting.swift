import Crypto
import Foundation
import Model

/// The text of a manifest as it is written: equal lists give equal bytes, those that a JSON encoder with sorted keys
/// and without escaped slashes gives.
struct ManifestWriting {
    private let runs: [Content.Run]
    private let salt: UUID?

    init(_ content: Content, salt: UUID?) {
        runs = content.runs
        self.salt = salt
    }

    /// - Throws: ``StoreError`` with `invalid` when it is longer than an object may be.
    func text(key: String) throws(StoreError) -> [UInt8] {
        var text: [UInt8] = []
        try write { piece throws(StoreError) in
            guard text.count + piece.count <= ContainerCoding.textByteLimit else {
                throw StoreError(.invalid, key: key, "too long to be written as one object")
            }
            text += piece
        }
        return text
    }

    /// The SHA-256 of the text, which is not kept.
    var hash: ChunkHash {
        var hasher = SHA256()
        write { piece in piece.withUnsafeBytes { hasher.update(bufferPointer: $0) } }
        return ChunkHash(digest: hasher.finalize())
    }

    /// The size of a piece: 64 KiB, and a little more.
    private static let pieceByteCount = 64 << 10

    /// Passes on the text in pieces.
    private func write<Failure: Error>(_ take: ([UInt8]) throws(Failure) -> Void) throws(Failure) {
        var piece: [UInt8] = []
        piece.reserveCapacity(2 * Self.pieceByteCount)
        piece += #"{"runs":["#.utf8
        for (index, run) in runs.enumerated() {
            if index > 0 { piece.append(UInt8(ascii: ",")) }
            switch run {
            case .zeros(let byteCount):
                piece += #"{"zeros":"#.utf8
                Self.append(byteCount, to: &piece)
            case .stored(let pack, let offset, let chunks):
                piece += #"{"chunks":["#.utf8
                for (index, chunk) in chunks.enumerated() {
                    if index > 0 { piece.append(UInt8(ascii: ",")) }
                    Self.append(chunk, to: &piece)
                    try pass(&piece, to: take)
                }
                piece += #"],"offset":"#.utf8
                Self.append(offset, to: &piece)
                piece += #","pack":""#.utf8
                piece += pack.description.utf8
                piece.append(UInt8(ascii: "\""))
            }
            piece.append(UInt8(ascii: "}"))
            try pass(&piece, to: take)
        }
        piece.append(UInt8(ascii: "]"))
        if let salt { piece += #","salt":"\#(salt.uuidString)""#.utf8 }
        piece.append(UInt8(ascii: "}"))
        try take(piece)
    }

    /// Passes on a piece that is long enough.
    private func pass<Failure: Error>(
        _ piece: inout [UInt8], to take: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        guard piece.count >= Self.pieceByteCount else { return }
        try take(piece)
        piece.removeAll(keepingCapacity: true)
    }

    private static func append(_ chunk: Content.Chunk, to piece: inout [UInt8]) {
        piece += #"{"byteCount":"#.utf8
        append(Int64(chunk.byteCount), to: &piece)
        piece += #","hash":""#.utf8
        append(chunk.hash, to: &piece)
        if let head = chunk.head {
            piece += #"","head":""#.utf8
            append(head, to: &piece)
        }
        piece += #""}"#.utf8
    }

    private static func append(_ number: Int64, to piece: inout [UInt8]) { piece += String(number).utf8 }

    private static func append(_ hash: ChunkHash, to piece: inout [UInt8]) {
        for byte in hash.bytes {
            piece.append(hexDigits[Int(byte >> 4)])
            piece.append(hexDigits[Int(byte & 15)])
        }
    }

    private static let hexDigits = Array("0123456789abcdef".utf8)
}

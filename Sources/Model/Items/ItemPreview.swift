/// A small JPEG of a picture, a video or a document, and where it is: other devices show it without the bytes.
///
/// It belongs to the bytes of the record that names it.
package struct ItemPreview: Hashable, Sendable {
    /// The longest preview: 16 KiB.
    package static let byteLimit = 16 << 10

    package let hash: ChunkHash
    package let pack: PackID
    /// Its first byte in the pack, 0 to 2^62.
    package let offset: Int64
    /// 1 to ``byteLimit``.
    package let byteCount: Int

    private static let offsets: ClosedRange<Int64> = 0...1 << 62

    /// - Returns: `nil` for a place or a length that no preview has.
    package init?(hash: ChunkHash, pack: PackID, offset: Int64, byteCount: Int) {
        guard (1...Self.byteLimit).contains(byteCount), Self.offsets.contains(offset) else { return nil }
        self.hash = hash
        self.pack = pack
        self.offset = offset
        self.byteCount = byteCount
    }

    package var range: Range<Int64> { offset..<offset + Int64(byteCount) }

    /// Whether bytes may be a preview: they begin as a JPEG (ITU-T T.81, an SOI marker and another one) and are not too
    /// long. Nothing here decodes them.
    package static func accepts(_ bytes: [UInt8]) -> Bool {
        bytes.count <= byteLimit && bytes.starts(with: [0xff, 0xd8, 0xff])
    }
}

extension ItemPreview: Codable {
    private enum CodingKeys: String, CodingKey { case hash, pack, offset, byteCount }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard
            let preview = ItemPreview(
                hash: try container.decode(ChunkHash.self, forKey: .hash),
                pack: try container.decode(PackID.self, forKey: .pack),
                offset: try container.decode(Int64.self, forKey: .offset),
                byteCount: try container.decode(Int.self, forKey: .byteCount))
        else {
            throw DecodingError.dataCorruptedError(forKey: .byteCount, in: container, debugDescription: "no preview")
        }
        self = preview
    }
}

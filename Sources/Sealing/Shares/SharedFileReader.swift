package import Remote

/// Opens a shared file with the key of its link alone.
package struct SharedFileReader: Sendable {
    /// The length of the file.
    package let byteCount: Int64
    /// The verified bytes of the file: complete when they were read to their end.
    package let bytes: ByteStream

    /// - Parameter source: The object `shares/UUID`, from its beginning.
    /// - Throws: ``StoreError`` with `corrupt` when it was not sealed under this key, or was changed; also from ``bytes``.
    package init(_ source: ByteStream, key: ShareKey) async throws(StoreError) {
        let name = source.key
        let (start, rest) = try await SealedHeader.take(from: source)
        let header = try SealedHeader(reading: start, key: name, secret: key.secret)
        let layout = header.layout
        let opening = SegmentStream(
            source, header, segments: 0..<layout.segmentCount, range: 0..<layout.byteCount, key: name, start: rest)
        byteCount = layout.byteCount
        bytes = ByteStream(key: name) { () async throws(StoreError) in try await opening.pull() }
    }
}

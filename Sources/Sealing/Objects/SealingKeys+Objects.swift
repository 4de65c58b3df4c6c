package import Remote

/// Whole objects, and the keys under which a store has them.
extension SealingKeys {
    /// The container's description. Beside it stands `container.json` in plain text, which only says that the container is
    /// sealed.
    private static let description = (shown: "container.json", stored: "container.sealed")

    /// The key under which the store has an object.
    package func storedKey(of key: String) -> String {
        key == Self.description.shown ? Self.description.stored : HiddenName(key: namingKey).stored(key)
    }

    /// The key of an object that the store has under another one; `nil` for what is no object of the container.
    func shownKey(of stored: String) -> String? {
        switch stored {
        case Self.description.shown: nil
        case Self.description.stored: Self.description.shown
        default: HiddenName(key: namingKey).shown(stored)
        }
    }

    /// The bytes of a sealed object.
    ///
    /// - Throws: ``StoreError`` as for ``SealedStore``.
    package func open(_ sealed: [UInt8], key: String) throws(StoreError) -> [UInt8] {
        let header = try SealedHeader(reading: Array(sealed.prefix(SealedHeader.byteCount)), key: key, keys: self)
        guard Int64(sealed.count) == header.layout.sealedByteCount else { throw SegmentCipher.damage(key) }
        var bytes: [UInt8] = []
        var rest = sealed.dropFirst(SealedHeader.byteCount)
        for index in 0..<header.layout.segmentCount {
            let count = Int(header.layout.byteCount(ofSegment: index) + SealedLayout.tagByteCount)
            let isLast = index == header.layout.segmentCount - 1
            bytes += try header.cipher.open(rest.prefix(count), .segment(index, isLast: isLast), key: key)
            rest = rest.dropFirst(count)
        }
        return Array(bytes.prefix(Int(header.layout.byteCount)))
    }
}

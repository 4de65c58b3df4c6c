package import Remote

/// Whole objects, and the keys under which a store has them.
extension SealingKeys {
    /// The container's description, as it is known above. The store has a `container.json` in plain text as well, which
    /// only says that the container is sealed.
    static let description = "container.json"

    /// Beside the keyrings: what is left of a container that was never finished is in nobody's way.
    var storedDescription: String { KeyringStore.directory(of: container) + "container" }

    /// The key under which the store has an object.
    package func storedKey(of key: String) -> String {
        key == Self.description ? storedDescription : HiddenName(key: namingKey).stored(key)
    }

    /// The key of an object that the store has under another one; `nil` for what is no object of the container.
    func shownKey(of stored: String) -> String? {
        if stored == Self.description || SharedObject.isPage(stored) { return nil }
        return stored == storedDescription ? Self.description : HiddenName(key: namingKey).shown(stored)
    }

    /// The bytes of a sealed object.
    ///
    /// - Parameter isEndorsed: Whether commits and snapshots were signed; the signature is not verified here.
    /// - Throws: ``StoreError`` as for ``SealedStore``.
    package func open(
        _ sealed: [UInt8], key: String, isEndorsed: Bool = false
    ) throws(StoreError) -> [UInt8] {
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
        let whole = bytes.prefix(Int(header.layout.byteCount))
        guard isEndorsed, SealedHistory.place(key) != nil else { return Array(whole) }
        return Array(whole.dropFirst(Endorsement.byteCount))
    }
}

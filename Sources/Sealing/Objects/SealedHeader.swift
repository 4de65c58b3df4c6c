import Crypto
import Foundation
import Remote

/// The beginning of a sealed object.
///
///     magic        "DEWSEAL"                                                                     7 bytes
///     version      2                                                                             1
///     epoch        big-endian                                                                    4
///     salt         random                                                                       32
///     commitment   of the object's key                                                          32
///     lengths      of the object, and padded: 8 bytes each, big-endian, encrypted; and a tag    32
///
///     object key ‖ commitment = HKDF-SHA256(epoch key, salt, "dewpoint object v2" ‖ 0 ‖ container ‖ key), 64 bytes
///
/// The salt makes the key of each object its own, so that no nonce is used twice however many objects there are; what
/// is derived from ties an object to its key and container. AES-GCM can be made to open under two keys; the commitment
/// cannot.
struct SealedHeader: Sendable {
    static let byteCount = 108
    static let saltByteCount = 32
    private static let magic = Array("DEWSEAL".utf8)
    private static let version: UInt8 = 2
    private static let publicByteCount = 76

    let layout: SealedLayout
    let cipher: SegmentCipher
    /// As it is written.
    let bytes: [UInt8]

    /// For a new object.
    ///
    /// - Parameter salt: 32 random bytes, never used before.
    init(key: String, layout: SealedLayout, salt: [UInt8], keys: SealingKeys) throws(StoreError) {
        precondition(salt.count == Self.saltByteCount)
        guard let epochKey = keys.epochKeys[keys.epoch] else {
            preconditionFailure("the keys have one for their epoch")
        }
        let (cipher, commitment) = Self.derive(from: epochKey, salt, key, keys)
        let lengths = Self.bigEndian(layout.byteCount) + Self.bigEndian(layout.paddedByteCount)
        self.layout = layout
        self.cipher = cipher
        bytes =
            Self.magic + [Self.version] + Self.bigEndian(keys.epoch) + salt + commitment
            + (try cipher.seal(lengths, .lengths, key: key))
    }

    /// - Parameter bytes: The first ``byteCount`` of the object.
    /// - Throws: ``StoreError`` with `corrupt` when they are not of this container's object with that key. That also goes
    ///   for another version and an epoch whose key is not known here: nothing shows that they were not damaged on the way.
    init(reading bytes: [UInt8], key: String, keys: SealingKeys) throws(StoreError) {
        guard bytes.count == Self.byteCount, bytes.starts(with: Self.magic) else {
            throw StoreError(.corrupt, key: key, "not a sealed object")
        }
        guard bytes[7] == Self.version else {
            throw StoreError(.corrupt, key: key, "sealed by another version of Dewpoint (\(bytes[7]))")
        }
        let epoch = bytes[8..<12].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard let epochKey = keys.epochKeys[epoch] else {
            throw StoreError(
                .corrupt, key: key, "sealed with the key of epoch \(epoch), which this device does not have")
        }
        let (cipher, commitment) = Self.derive(from: epochKey, Array(bytes[12..<44]), key, keys)
        guard commitment.elementsEqual(bytes[44..<Self.publicByteCount]) else { throw SegmentCipher.damage(key) }
        let lengths = try cipher.open(bytes[Self.publicByteCount...], .lengths, key: key)
        guard
            let layout = SealedLayout(
                byteCount: Self.number(lengths.prefix(8)), paddedByteCount: Self.number(lengths.suffix(8)))
        else { throw SegmentCipher.damage(key) }
        self.layout = layout
        self.cipher = cipher
        self.bytes = bytes
    }

    /// The epoch that a header names; `nil` for what is none.
    static func epoch(of bytes: [UInt8]) -> UInt32? {
        guard bytes.count == byteCount, bytes.starts(with: magic) else { return nil }
        return bytes[8..<12].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func derive(
        from epochKey: SymmetricKey, _ salt: [UInt8], _ key: String, _ keys: SealingKeys
    ) -> (SegmentCipher, commitment: [UInt8]) {
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: epochKey, salt: salt,
            info: Array("dewpoint object v2".utf8) + [0] + keys.container.bytes + Array(key.utf8), outputByteCount: 64)
        return derived.withUnsafeBytes { bytes in
            (SegmentCipher(key: SymmetricKey(data: bytes[..<32])), Array(bytes[32...]))
        }
    }

    private static func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private static func number(_ bytes: some Collection<UInt8>) -> Int64 {
        Int64(bitPattern: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}

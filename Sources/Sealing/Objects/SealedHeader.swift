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
/// The bytes of a share are under a key of their own: see ``ShareKey``.
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
    /// - Parameters:
    ///   - byteCount: Of the object; it is padded as its key wants it.
    ///   - salt: 32 random bytes, never used before.
    /// - Throws: ``StoreError`` with `invalid` for an object that is too long.
    init(key: String, byteCount: Int64, salt: [UInt8], keys: SealingKeys) throws(StoreError) {
        precondition(salt.count == Self.saltByteCount)
        let padded = Padding.of(key: key).paddedByteCount(byteCount)
        guard let layout = SealedLayout(byteCount: byteCount, paddedByteCount: padded) else {
            throw StoreError(.invalid, key: key, "\(byteCount) bytes are too long for one object")
        }
        guard let secret = keys.secret(of: key, epoch: keys.epoch) else {
            preconditionFailure("the keys have one for their epoch")
        }
        let (cipher, commitment) = Self.derive(from: secret, salt)
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
        let secret = try Self.epoch(of: bytes).map { epoch throws(StoreError) in
            guard let secret = keys.secret(of: key, epoch: epoch) else {
                throw StoreError(
                    .corrupt, key: key, "sealed with the key of epoch \(epoch), which this device does not have")
            }
            return secret
        }
        try self.init(reading: bytes, key: key, secret: secret)
    }

    /// - Parameter secret: `nil` only for what is no header.
    init(reading bytes: [UInt8], key: String, secret: ObjectSecret?) throws(StoreError) {
        guard bytes.count == Self.byteCount, bytes.starts(with: Self.magic) else {
            throw StoreError(.corrupt, key: key, "not a sealed object")
        }
        guard bytes[7] == Self.version else {
            throw StoreError(.corrupt, key: key, "sealed by another version of Dewpoint (\(bytes[7]))")
        }
        guard let secret else { throw SegmentCipher.damage(key) }
        let (cipher, commitment) = Self.derive(from: secret, Array(bytes[12..<44]))
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

    /// Under whose key it was sealed.
    var epoch: UInt32 { bytes[8..<12].reduce(0) { $0 << 8 | UInt32($1) } }

    /// The epoch that a header names; `nil` for what is none.
    static func epoch(of bytes: [UInt8]) -> UInt32? {
        guard bytes.count == byteCount, bytes.starts(with: magic) else { return nil }
        return bytes[8..<12].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The header at the beginning of a stream, which may be cut, and what was read behind it.
    static func take(from source: ByteStream) async throws(StoreError) -> (header: [UInt8], rest: [UInt8]) {
        var bytes: [UInt8] = []
        while bytes.count < byteCount, let piece = try await source.next() { bytes += piece }
        return (Array(bytes.prefix(byteCount)), Array(bytes.dropFirst(byteCount)))
    }

    private static func derive(
        from secret: ObjectSecret, _ salt: [UInt8]
    ) -> (SegmentCipher, commitment: [UInt8]) {
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret.key, salt: salt, info: secret.info, outputByteCount: 64)
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

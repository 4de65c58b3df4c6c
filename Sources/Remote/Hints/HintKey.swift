package import Crypto
package import Foundation

/// The key with which the devices of a container encrypt what they tell each other.
package struct HintKey: Sendable {
    private static let purpose = Array("dewpoint hints v1".utf8) + [0]
    private static let tagPurpose = Array("dewpoint hint tag v1".utf8) + [0]
    static let tagByteCount = 8

    let key: SymmetricKey

    /// That of a plain container: its UUID has 122 random bits, which who cannot read the container does not know.
    ///
    /// - Parameter place: `BUCKET/PREFIX`, or nothing for a directory: a copy of a container has the same UUID.
    package init(ofPlain container: UUID, at place: String) {
        let secret = SymmetricKey(data: withUnsafeBytes(of: container.uuid) { Data($0) })
        self.init(secret, container, Array(place.utf8))
    }

    /// - Parameter secret: What only the members of an encrypted container have.
    package init(secret: SymmetricKey, of container: UUID) { self.init(secret, container, []) }

    private init(_ secret: SymmetricKey, _ container: UUID, _ place: [UInt8]) {
        let container = withUnsafeBytes(of: container.uuid) { Array($0) }
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret, info: Self.purpose + container + place, outputByteCount: 32)
    }

    /// What a datagram of one day begins with, so that those of other containers are dropped without decrypting them. It
    /// changes daily, so that it does not show who was where.
    ///
    /// - Parameter day: Since 1970, in UTC.
    func tag(ofDay day: Int64) -> [UInt8] {
        let statement = Self.tagPurpose + withUnsafeBytes(of: day.bigEndian) { Array($0) }
        return Array(HMAC<SHA256>.authenticationCode(for: statement, using: key).prefix(Self.tagByteCount))
    }
}

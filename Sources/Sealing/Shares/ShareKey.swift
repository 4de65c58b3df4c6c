import Crypto
import Foundation

/// The key of one shared file, which its link carries: with it, and without any other key of the container, the object
/// `shares/UUID` is opened.
///
///     share key = HKDF-SHA256(key of an epoch, no salt, "dewpoint share key v2" ‖ 0 ‖ container ‖ UUID), 32 bytes
///
/// Nothing needs to be kept for it: each device can make the link again. One that was revoked knows the keys of the
/// epochs before, and of no later share.
package struct ShareKey: Sendable {
    static let byteCount = 32

    private let key: SymmetricKey

    init(of id: UUID, container: UUID, epochKey: SymmetricKey) {
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: epochKey,
            info: Array("dewpoint share key v2".utf8) + [0] + container.bytes + id.bytes,
            outputByteCount: Self.byteCount)
    }

    /// - Returns: `nil` for what is no key.
    init?(text: Substring) {
        let digits = String(text).replacing("-", with: "+").replacing("_", with: "/") + "="
        guard text.utf8.allSatisfy({ !"+/=".utf8.contains($0) }), let bytes = Data(base64Encoded: digits),
            bytes.count == Self.byteCount
        else { return nil }
        key = SymmetricKey(data: bytes)
    }

    /// Base 64 for URLs, without padding: 43 characters.
    package var text: String {
        key.withUnsafeBytes { Data($0) }.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }

    /// The holder of a link knows neither the container nor the UUID, which are in the key.
    var secret: ObjectSecret { ObjectSecret(key: key, info: Array("dewpoint share v2".utf8)) }
}

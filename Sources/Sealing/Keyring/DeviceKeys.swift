import Crypto
package import Foundation

/// The private keys of one member: it is wrapped to with the one, and signs with the other.
package struct DeviceKeys: Sendable {
    let agreement: Curve25519.KeyAgreement.PrivateKey
    let signing: Curve25519.Signing.PrivateKey

    /// New ones.
    package init() {
        agreement = Curve25519.KeyAgreement.PrivateKey()
        signing = Curve25519.Signing.PrivateKey()
    }

    /// - Parameter bytes: As ``bytes``.
    /// - Returns: `nil` for bytes that are no keys.
    package init?(bytes: Data) {
        guard bytes.count == 64,
            let agreement = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes.prefix(32)),
            let signing = try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes.suffix(32))
        else { return nil }
        self.agreement = agreement
        self.signing = signing
    }

    /// 64 bytes, for the device's own state.
    package var bytes: Data { agreement.rawRepresentation + signing.rawRepresentation }

    package var publicKeys: DevicePublicKeys {
        DevicePublicKeys(
            agreement: agreement.publicKey.rawRepresentation, signing: signing.publicKey.rawRepresentation)
    }
}

/// What everybody may know of a member's keys.
package struct DevicePublicKeys: Codable, Hashable, Sendable {
    /// X25519, 32 bytes.
    let agreement: Data
    /// Ed25519, 32 bytes.
    package let signing: Data
}

import Crypto
package import Foundation
import Model

/// A version of the keyring as it is stored, with what shows who made it.
///
///     {"keyring": base64 of the JSON text, "mac": base64, "signature": base64}
///
/// Both are over the bytes of that text, so nobody needs a canonical form.
package struct KeyringObject: Codable, Hashable, Sendable {
    /// The longest object that is read: 1 MiB.
    package static let byteLimit = 1 << 20

    private let keyring: Data
    /// HMAC-SHA256 under a key derived from the container key: its maker has that key.
    private let mac: Data
    /// Ed25519.
    private let signature: Data

    private static let purpose = Data(Array("dewpoint keyring v2".utf8) + [0])

    init(_ keyring: Keyring, secrets: RingSecrets, signer: DeviceKeys) throws(KeyringError) {
        do {
            self.keyring = try Self.encoder.encode(keyring)
            mac = Data(
                HMAC<SHA256>.authenticationCode(
                    for: self.keyring, using: secrets.authenticationKey(of: keyring.container)))
            signature = try signer.signing.signature(for: Self.purpose + self.keyring)
        } catch {
            throw .refused("the keyring cannot be written: \(error)")
        }
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }

    // MARK: As bytes

    package func bytes() throws(KeyringError) -> [UInt8] {
        guard let bytes = try? Self.encoder.encode(self) else { throw .refused("the keyring cannot be written") }
        guard bytes.count <= Self.byteLimit else {
            throw .refused("the keyring would be longer than \(Self.byteLimit >> 20) MiB")
        }
        return Array(bytes)
    }

    /// - Throws: ``KeyringError`` with `damaged`.
    package init(bytes: [UInt8]) throws(KeyringError) {
        guard bytes.count <= Self.byteLimit else { throw .damaged("longer than \(Self.byteLimit >> 20) MiB") }
        guard let object = try? ForeignJSON.decode(Self.self, from: Data(bytes)) else {
            throw .damaged("not a keyring")
        }
        self = object
    }

    package static func hash(_ bytes: [UInt8]) -> Data { Data(SHA256.hash(data: bytes)) }

    // MARK: What is in it

    /// The version, before anything shows that it can be believed.
    ///
    /// - Throws: ``KeyringError`` with `damaged` when it breaks a rule.
    func unverified() throws(KeyringError) -> Keyring {
        guard let ring = try? ForeignJSON.decode(Keyring.self, from: keyring) else { throw .damaged("not a keyring") }
        guard ring.format == Keyring.format else {
            throw .parameters("a keyring of format \(ring.format), where \(Keyring.format) is needed")
        }
        let ids = Set(ring.members.map(\.id))
        // Each passphrase slot takes a run of scrypt to try.
        let personal = ring.slots.map(\.kind).reduce(into: (passphrases: 0, codes: 0)) { count, kind in
            switch kind {
            case .passphrase: count.passphrases += 1
            case .recovery: count.codes += 1
            case .device: break
            }
        }
        let isBounded =
            max(personal.passphrases, personal.codes) <= Keyring.personalSlotLimit
            && ring.members.count <= Keyring.memberLimit && ids.count == ring.members.count
            && ring.slots.count <= Keyring.memberLimit + 2 * Keyring.personalSlotLimit
            && ring.members.allSatisfy { $0.name.utf8.count <= Keyring.nameByteLimit }
            && ring.slots.allSatisfy {
                $0.publicKey.count == 32 && $0.wrapped.count <= 64 && $0.encapsulated.count <= 64
            }
        guard isBounded, ring.number >= 1 else { throw .damaged("its members or slots break the rules") }
        return ring
    }

    func isSigned(by key: Data) -> Bool {
        guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: key) else { return false }
        return key.isValidSignature(signature, for: Self.purpose + keyring)
    }

    func isAuthenticated(by secrets: RingSecrets, of container: UUID) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(
            mac, authenticating: keyring, using: secrets.authenticationKey(of: container))
    }
}

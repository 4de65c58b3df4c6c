import Crypto
import Foundation
import Remote

/// What stands before the bytes of a commit, of a snapshot and of the container's description, and is sealed with them:
/// who wrote it, under which version of the keyring, and after what.
///
///     magic        "DEWSIGN"                                                                     7 bytes
///     version      2                                                                             1
///     signer       the UUID of a member                                                         16
///     ring         the number of the version, big-endian, and the SHA-256 of its object         40
///     predecessor  the SHA-256 of the sealed object of the commit before;                       32
///                  before a snapshot, of the commit whose state it is; zeros where there is none
///     signature    Ed25519                                                                      64
///
/// Hashes are of sealed objects, as they are stored, so that nobody needs a canonical form of a commit.
struct Endorsement: Sendable {
    static let byteCount = 160
    static let noPredecessor = Data(count: 32)
    private static let magic = Array("DEWSIGN".utf8)
    private static let version: UInt8 = 2
    private static let purpose = Array("dewpoint history v2".utf8) + [0]

    let signer: UUID
    let ring: KeyringChain.Pin
    let predecessor: Data
    private let signature: Data

    /// - Parameter digest: The SHA-256 of the object's bytes.
    init(
        of digest: SHA256.Digest, key: String, predecessor: Data, by signer: HistorySigner, container: UUID
    ) throws(StoreError) {
        self.signer = signer.member
        ring = signer.ring
        self.predecessor = predecessor
        let statement = Self.statement(signer.member, signer.ring, predecessor, digest, key, container)
        do {
            signature = try signer.keys.signing.signature(for: statement)
        } catch {
            throw StoreError(.invalid, key: key, "cannot be signed: \(error)")
        }
    }

    /// - Returns: `nil` for other bytes.
    init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, bytes.starts(with: Self.magic), bytes[7] == Self.version else {
            return nil
        }
        signer = UUID(bytes: bytes[8..<24])
        let number = bytes[24..<32].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard let number = Int(exactly: number) else { return nil }
        ring = KeyringChain.Pin(number: number, hash: Data(bytes[32..<64]))
        predecessor = Data(bytes[64..<96])
        signature = Data(bytes[96...])
    }

    var bytes: [UInt8] {
        Self.magic + [Self.version] + signer.bytes + Self.bytes(of: ring) + Array(predecessor) + Array(signature)
    }

    /// - Parameter signingKey: Ed25519, 32 bytes.
    func isValid(of digest: SHA256.Digest, key: String, container: UUID, signingKey: Data) -> Bool {
        guard let publicKey = try? Curve25519.Signing.PublicKey(rawRepresentation: signingKey) else { return false }
        return publicKey.isValidSignature(
            signature, for: Self.statement(signer, ring, predecessor, digest, key, container))
    }

    private static func statement(
        _ signer: UUID, _ ring: KeyringChain.Pin, _ predecessor: Data, _ digest: SHA256.Digest, _ key: String,
        _ container: UUID
    ) -> Data {
        Data(
            purpose + container.bytes + signer.bytes + bytes(of: ring) + Array(predecessor) + Array(digest)
                + Array(key.utf8))
    }

    private static func bytes(of ring: KeyringChain.Pin) -> [UInt8] {
        withUnsafeBytes(of: UInt64(ring.number).bigEndian) { Array($0) } + Array(ring.hash)
    }
}

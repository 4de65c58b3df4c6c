import Crypto
package import Foundation
import Model
package import Remote

/// A device that asks to be enrolled by one that is, with a code that a person carries from the one to the other.
///
/// The request lies in the store, which is not to be trusted. So the code carries 128 bits of the request's hash, that
/// nobody puts other keys into it, and 128 random bits, with which the answer is sealed (HPKE with a pre-shared key, RFC
/// 9180), that nobody enrols the device into a container of his own making, which he could read.
package struct Enrolment: Sendable {
    /// How long a code is accepted: 15 min, by the clocks of both devices.
    package static let lifetime = Duration.seconds(15 * 60)
    /// The longest request and answer: 16 KiB.
    private static let byteLimit = 16 << 10
    private static let purpose = Array("dewpoint enrol v2".utf8) + [0]
    private static let suite = HPKE.Ciphersuite(kem: .Curve25519_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .AES_GCM_256)

    private struct Request: Codable {
        let container: UUID
        let device: UUID
        let name: String
        let keys: DevicePublicKeys
        /// Nanoseconds since 1970.
        let made: Int64
    }

    /// A ``RingRoot``, for the keys of the request.
    private struct Answer: Codable {
        let encapsulated: Data
        let root: Data
    }

    private let base: any ObjectStore
    private let container: UUID
    private let device: UUID
    private let keys: DeviceKeys
    /// For a person to carry to a device that is enrolled.
    package let code: RecoveryCode

    // MARK: The new device

    /// Puts a request into the store.
    ///
    /// - Parameters:
    ///   - name: Of the device, at most 255 bytes.
    ///   - time: Nanoseconds since 1970.
    package init(
        in base: any ObjectStore, container: UUID, name: String, time: Int64
    ) async throws(KeyringError) {
        try KeyringChange.check(name)
        (self.base, self.container, device, keys) = (base, container, UUID(), DeviceKeys())
        let request = Request(container: container, device: device, name: name, keys: keys.publicKeys, made: time)
        guard let bytes = try? JSONEncoder().encode(request) else { throw .refused("the request cannot be written") }
        code = RecoveryCode(halves: Self.digest(bytes), RecoveryCode().bytes.prefix(16))
        do throws(StoreError) {
            try await base.create(Self.key(code, "request"), .bytes(Array(bytes)))
        } catch {
            throw .store(error)
        }
    }

    /// Looks for the answer.
    ///
    /// - Returns: For the state of this device; `nil` while there is no answer.
    /// - Throws: ``KeyringError`` with `damaged` when the answer is not for the code, or the keyring not the one that
    ///   the answer vouches for.
    package func answer() async throws(KeyringError) -> KeyringMemory? {
        guard let bytes = try await Self.read(base, Self.key(code, "answer")) else { return nil }
        guard let answer = try? ForeignJSON.decode(Answer.self, from: bytes), let root = open(answer) else {
            throw .damaged("the answer in the store is not one to this code")
        }
        let chain = try await KeyringStore(store: base, container: container).chain()
        try chain.check(root, try chain.open(keys, of: device))
        return KeyringMemory(chain, .device(device, keys: keys.bytes))
    }

    /// Takes request and answer away; what cannot be deleted is harmless.
    package func remove() async {
        for kind in ["request", "answer"] { try? await base.delete(Self.key(code, kind)) }
    }

    private func open(_ answer: Answer) -> RingRoot? {
        guard
            var recipient = try? HPKE.Recipient(
                privateKey: keys.agreement, ciphersuite: Self.suite, info: Self.info(container, code),
                encapsulatedKey: answer.encapsulated, presharedKey: Self.presharedKey(code, container),
                presharedKeyIdentifier: Data(Self.purpose)),
            let bytes = try? recipient.open(answer.root)
        else { return nil }
        return RingRoot(bytes: bytes)
    }

    // MARK: The device that accepts it

    /// Enrols the device whose code it is.
    ///
    /// - Returns: The device's name.
    /// - Throws: ``KeyringError`` with `refused` when there is no such request, or it is too old.
    package static func accept(
        _ code: RecoveryCode, role: Keyring.Role, in container: inout UnlockedContainer, time: Int64
    ) async throws(KeyringError) -> String {
        let base = container.base
        guard let bytes = try await read(base, key(code, "request")) else {
            throw .refused("no device asks with this code here: check it, and that it asks for the same container")
        }
        guard digest(bytes) == code.bytes.prefix(16)[...],
            let request = try? ForeignJSON.decode(Request.self, from: bytes)
        else {
            throw .damaged("the request in the store is not that of the device which shows this code")
        }
        let id = container.newest.container
        guard request.container == id else {
            throw .refused("the device \(request.name) asks for another container")
        }
        let age = Duration.nanoseconds(time.subtractingReportingOverflow(request.made).partialValue)
        guard age > .zero - lifetime, age < lifetime else {
            throw .refused("the code of the device \(request.name) is older than 15 minutes: ask for a new one there")
        }
        let known = container.newest.member(request.device)
        if known?.revokedAt != nil || known?.keys != request.keys {
            try await container.change(time: time) { change throws(KeyringError) in
                try change.enrol(request.device, name: request.name, keys: request.keys, role: role)
            }
        }
        do {
            var sender = try HPKE.Sender(
                recipientKey: Curve25519.KeyAgreement.PublicKey(rawRepresentation: request.keys.agreement),
                ciphersuite: suite, info: info(id, code), presharedKey: presharedKey(code, id),
                presharedKeyIdentifier: Data(purpose))
            let root = try sender.seal(container.root.bytes)
            let answer = try JSONEncoder().encode(Answer(encapsulated: sender.encapsulatedKey, root: root))
            try await base.put(key(code, "answer"), .bytes(Array(answer)))
        } catch let error as StoreError {
            throw .store(error)
        } catch {
            throw .refused("the keys of the device \(request.name) are none: \(error)")
        }
        return request.name
    }

    // MARK: Both

    private static func digest(_ request: Data) -> ArraySlice<UInt8> {
        Array(SHA256.hash(data: Data(purpose) + request)).prefix(16)
    }

    /// The hash that the code carries names the objects.
    private static func key(_ code: RecoveryCode, _ kind: String) -> String {
        "enrol/\(HiddenName.hex(code.bytes.prefix(16)))-\(kind)"
    }

    private static func presharedKey(_ code: RecoveryCode, _ container: UUID) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: code.bytes.suffix(16)), info: purpose + container.bytes,
            outputByteCount: 32)
    }

    private static func info(_ container: UUID, _ code: RecoveryCode) -> Data {
        Data(purpose + container.bytes + code.bytes.prefix(16))
    }

    private static func read(_ base: any ObjectStore, _ key: String) async throws(KeyringError) -> Data? {
        do throws(StoreError) {
            return Data(try await base.get(key, range: nil).collect(upTo: byteLimit))
        } catch {
            guard error.code == .notFound else { throw .store(error) }
            return nil
        }
    }
}

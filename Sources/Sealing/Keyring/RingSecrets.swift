import Crypto
package import Foundation

/// What a keyring protects.
package struct RingSecrets: Sendable {
    /// Made with the container, never replaced: what a passphrase or a code vouches for.
    let containerKey: SymmetricKey
    private(set) var epochKeys: [UInt32: SymmetricKey]

    /// Those of a new container.
    init() {
        containerKey = SymmetricKey(size: .bits256)
        epochKeys = [1: SymmetricKey(size: .bits256)]
    }

    var epoch: UInt32 { epochKeys.keys.max() ?? 0 }

    /// Starts an epoch: a device without its key cannot read what is written from then on.
    mutating func beginEpoch() { epochKeys[epoch + 1] = SymmetricKey(size: .bits256) }

    /// The keys of objects.
    package func sealingKeys(of container: UUID) -> SealingKeys {
        SealingKeys(container: container, epoch: epoch, epochKeys: epochKeys, containerKey: containerKey)
    }

    /// The key with which keyrings are authenticated.
    func authenticationKey(of container: UUID) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: containerKey, info: Array("dewpoint keyring v2".utf8) + [0] + container.bytes,
            outputByteCount: 32)
    }

    // MARK: As bytes

    /// The container key, then each epoch's number (4 bytes, big-endian) and key.
    var bytes: [UInt8] {
        epochKeys.sorted { $0.key < $1.key }.reduce(containerKey.bytes) { bytes, epoch in
            bytes + withUnsafeBytes(of: epoch.key.bigEndian) { Array($0) } + epoch.value.bytes
        }
    }

    /// - Returns: `nil` for bytes of another form.
    init?(bytes: [UInt8]) {
        guard bytes.count >= 68, (bytes.count - 32) % 36 == 0 else { return nil }
        containerKey = SymmetricKey(data: bytes[..<32])
        epochKeys = [:]
        for start in stride(from: 32, to: bytes.count, by: 36) {
            let epoch = bytes[start..<start + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            epochKeys[epoch] = SymmetricKey(data: bytes[start + 4..<start + 36])
        }
        // From 1 on, without a gap.
        guard epochKeys.count == (bytes.count - 32) / 36, epoch == epochKeys.count, epochKeys[0] == nil else {
            return nil
        }
    }
}

extension SymmetricKey {
    var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
}

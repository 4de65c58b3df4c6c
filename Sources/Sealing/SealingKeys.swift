package import Crypto
package import Foundation
import Remote

/// The keys with which one container's objects are sealed.
///
///     container key    256 random bits
///     ├─ naming key    HKDF-SHA256: hides names that are hashes of contents, see ``HiddenName``
///     └─ epoch keys    256 random bits each; what is sealed names its epoch
///        └─ hint key   HKDF-SHA256: for what devices tell each other, see ``HintKey``
package struct SealingKeys: Sendable {
    /// The container: part of every object's key, so that no object opens in another container.
    package let container: UUID
    /// The epoch in which is sealed what is written now.
    package let epoch: UInt32
    let epochKeys: [UInt32: SymmetricKey]
    let namingKey: SymmetricKey

    /// - Parameters:
    ///   - epochKeys: 256 bits each; with one for `epoch`.
    ///   - containerKey: 256 bits.
    package init(container: UUID, epoch: UInt32, epochKeys: [UInt32: SymmetricKey], containerKey: SymmetricKey) {
        precondition(epochKeys[epoch] != nil)
        self.container = container
        self.epoch = epoch
        self.epochKeys = epochKeys
        namingKey = Self.derive("dewpoint names v2", from: containerKey, container)
    }

    /// That of the newest epoch: a device that was revoked can tell the others nothing.
    var hintKey: HintKey {
        guard let key = epochKeys[epoch] else { preconditionFailure("there is one for the epoch") }
        return HintKey(secret: key, of: container)
    }

    private static func derive(_ purpose: String, from key: SymmetricKey, _ container: UUID) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, info: Array(purpose.utf8) + [0] + container.bytes, outputByteCount: 32)
    }
}

extension UUID {
    /// The 16 bytes, in the order of the text.
    var bytes: [UInt8] { withUnsafeBytes(of: uuid) { Array($0) } }

    /// - Parameter bytes: 16 of them.
    init(bytes: some Collection<UInt8>) {
        var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &uuid) { $0.copyBytes(from: bytes) }
        self.init(uuid: uuid)
    }
}

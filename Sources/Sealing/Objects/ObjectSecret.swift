import Crypto
import Foundation

/// From what the key of one object is derived.
struct ObjectSecret: Sendable {
    let key: SymmetricKey
    /// What the object is tied to, so that it opens nowhere else.
    let info: [UInt8]
}

extension SealingKeys {
    /// - Returns: `nil` when the key of the epoch is not known.
    func secret(of key: String, epoch: UInt32) -> ObjectSecret? {
        guard let epochKey = epochKeys[epoch] else { return nil }
        if let share = SharedObject(key: key) {
            return ShareKey(of: share.id, container: container, epochKey: epochKey).secret
        }
        return ObjectSecret(
            key: epochKey, info: Array("dewpoint object v2".utf8) + [0] + container.bytes + Array(key.utf8))
    }
}

package import Remote

/// Why a keyring is not opened, not believed or not changed.
package enum KeyringError: Error, Equatable, Sendable {
    /// The passphrase or the recovery code is wrong, or not of this container: one answer, whatever the slot.
    case wrongSecret
    /// This device's keys are in no slot: it was never enrolled, or revoked.
    case notEnrolled
    /// The keyring was changed by somebody without the keys, or is none; the text says where.
    case damaged(String)
    /// The keyring does not descend from the one that is known here.
    case notDescended(String)
    /// Its parameters are weaker, or cost more, than any that are written.
    case parameters(String)
    /// The store that has it failed.
    case store(StoreError)
    /// A change that the rules do not allow; the text says what to do.
    case refused(String)
}

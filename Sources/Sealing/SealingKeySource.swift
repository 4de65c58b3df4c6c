package import Remote

/// Where ``SealedStore`` has its keys from.
package protocol SealingKeySource: Sendable {
    var keys: SealingKeys { get }

    /// Looks for newer keys, because an object names an epoch that is not known.
    ///
    /// - Throws: ``StoreError`` with `denied` when this device does not get them any more.
    func renew() async throws(StoreError)

    /// The same before something is written, unless it was done lately.
    func renewIfOld() async throws(StoreError)

    /// Checks that the store still has what they came from.
    ///
    /// - Throws: ``StoreError`` with `corrupt`.
    func verify() async throws(StoreError)

    /// Looks at all that they came from.
    ///
    /// - Returns: What is wrong with it, in sentences.
    func problems() async throws(StoreError) -> [String]
}

/// Keys that never change.
extension SealingKeys: SealingKeySource {
    package var keys: SealingKeys { self }
    package func renew() {}
    package func renewIfOld() {}
    package func verify() {}
    package func problems() -> [String] { [] }
}

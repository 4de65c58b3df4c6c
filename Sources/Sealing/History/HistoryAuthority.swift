package import Foundation
package import Remote

/// With whose signature a device writes.
package struct HistorySigner: Sendable {
    let member: UUID
    let keys: DeviceKeys
    /// The version of the keyring that it knows.
    let ring: KeyringChain.Pin

    package init(member: UUID, keys: DeviceKeys, ring: KeyringChain.Pin) {
        self.member = member
        self.keys = keys
        self.ring = ring
    }
}

/// Who may write the history of a container.
package protocol HistoryAuthority: Sendable {
    var container: UUID { get }

    /// `nil` for a device that may only read.
    var signer: HistorySigner? { get }

    /// Whether a member may write under the newest version that is known here.
    func mayWrite(_ member: UUID) -> Bool

    /// Looks for a newer version.
    func renew() async throws(StoreError)

    /// How many members were revoked in the newest version that is known here.
    var formerMemberCount: Int { get }

    /// Whether a member was revoked in a version of the keyring that is known here.
    func isRevoked(_ member: UUID, under ring: Int) -> Bool

    /// - Parameter ring: The version of the keyring under which something was written.
    /// - Returns: The Ed25519 key of a member who may write under that version.
    /// - Throws: ``StoreError`` with `corrupt` when there is no such version or member, or it may not write.
    func signingKey(of member: UUID, under ring: KeyringChain.Pin, key: String) async throws(StoreError) -> Data
}

extension KeyringChain {
    /// - Throws: ``StoreError`` with `corrupt` as for ``HistoryAuthority``.
    func signingKey(of member: UUID, under ring: Pin, key: String) throws(StoreError) -> Data {
        func refusal(_ reason: String) -> StoreError { StoreError(.corrupt, key: key, reason) }
        guard ring.number <= versions.count else {
            throw refusal("it was written under keyring \(ring.number), which the store does not show")
        }
        guard ring.number > 0, versions[ring.number - 1].hash == ring.hash else {
            throw refusal("it was written under another keyring \(ring.number) than the one that is known")
        }
        let version = versions[ring.number - 1]
        guard let index = newest.members.firstIndex(where: { $0.id == member }), index < version.memberCount else {
            throw refusal("it is signed by somebody who was no member under keyring \(ring.number)")
        }
        let writer = newest.members[index]
        guard writer.role != .reader, writer.revokedAt.map({ $0 > version.epoch }) ?? true else {
            throw refusal("it is signed by \(writer.name), which might not write under keyring \(ring.number)")
        }
        return writer.signingKey
    }

    func mayWrite(_ member: UUID) -> Bool { newest.member(member)?.mayWrite ?? false }

    var formerMemberCount: Int { newest.members.count { $0.revokedAt != nil } }

    func isRevoked(_ member: UUID, under ring: Int) -> Bool {
        guard let revokedAt = newest.member(member)?.revokedAt, versions.indices.contains(ring - 1) else {
            return false
        }
        return revokedAt <= versions[ring - 1].epoch
    }
}

/// Those of a keyring that does not change meanwhile.
struct KeyringAuthority: HistoryAuthority {
    let chain: KeyringChain
    let signer: HistorySigner?

    init(_ chain: KeyringChain, _ author: KeyringChange.Author?) {
        self.chain = chain
        signer = chain.signer(author)
    }

    var container: UUID { chain.newest.container }

    func mayWrite(_ member: UUID) -> Bool { chain.mayWrite(member) }
    /// It has just been read.
    func renew() {}
    var formerMemberCount: Int { chain.formerMemberCount }
    func isRevoked(_ member: UUID, under ring: Int) -> Bool { chain.isRevoked(member, under: ring) }

    func signingKey(of member: UUID, under ring: KeyringChain.Pin, key: String) throws(StoreError) -> Data {
        try chain.signingKey(of: member, under: ring, key: key)
    }
}

extension KeyringChain {
    /// - Returns: `nil` for who may only read.
    func signer(_ author: KeyringChange.Author?) -> HistorySigner? {
        guard let author, mayWrite(author.device) else { return nil }
        return HistorySigner(member: author.device, keys: author.keys, ring: pin)
    }
}

import Remote
import Synchronization

/// Snapshots: each takes the place of all commits up to its own, so whoever could make one up would rewrite them.
extension SealedHistory {
    /// How many commits are read at a time to judge a snapshot of a former member: 16.
    private static let readWidth = 16

    /// Who was revoked meanwhile may have made a snapshot before, or afterwards with the keys that he still has. It is
    /// refused where a commit before it tells, where it is not needed, since the log begins with its first commit, and
    /// where any commit was written under a keyring in which he is revoked: whoever writes that one makes another snapshot.
    /// That commits are trimmed proves nothing: so can he. Nor may the log be in disorder, which hides such a commit.
    func verify(
        snapshot number: UInt64, _ endorsement: Endorsement, _ key: String, _ read: Reading
    ) async throws(StoreError) {
        if entry(number) == nil, number > 1, try await read.note(Self.commitKey(number)) == .trimmed {
            // Commits are trimmed from the first one on.
            if try await read.note(Self.commitKey(number - 1)) == .present {
                throw StoreError(
                    .corrupt, key: key, "commit \(number) was trimmed, although the one before it was not")
            }
        }
        try refuseContradiction(to: Entry(number: number, hash: endorsement.predecessor, ring: 0), key)
        try verifyRing(endorsement, upTo: number, key)
        guard !authority.mayWrite(endorsement.signer) else { return }
        let log = try await read.commits()
        let kept = Array(log.drop { $0.isTrimmed })
        if kept.first?.number == 1 {
            throw StoreError(
                .corrupt, key: key, "it is signed by a device that was revoked, and the log has all commits")
        }
        let isInOrder = zip(log, log.dropFirst()).allSatisfy { $0.number + 1 == $1.number }
        guard isInOrder, !kept.contains(where: \.isTrimmed), log.contains(where: { $0.number == number }) else {
            throw StoreError(
                .corrupt, key: key, "it is signed by a device that was revoked, and commits of the log are missing")
        }
        for start in stride(from: 0, to: kept.count, by: Self.readWidth) {
            let part = kept[start..<min(start + Self.readWidth, kept.count)].map(\.number)
            for (commit, ring) in zip(part, try await Self.rings(of: part, read)) {
                guard let ring else {
                    throw StoreError(
                        .corrupt, key: key,
                        "it is signed by a device that was revoked, and commit \(commit), which would tell when, cannot be read"
                    )
                }
                guard authority.isRevoked(endorsement.signer, under: ring) else { continue }
                throw StoreError(
                    .corrupt, key: key,
                    "it is signed by a device that was revoked before commit \(commit); a device that may write makes another one "
                        + "soon, while it is mounted")
            }
        }
    }

    private static func rings(of commits: [UInt64], _ read: Reading) async throws(StoreError) -> [Int?] {
        typealias Found = (index: Int, ring: Result<Int?, StoreError>)
        let found = await withTaskGroup(of: Found.self) { group in
            for (index, number) in commits.enumerated() {
                group.addTask {
                    do throws(StoreError) { return (index, .success(try await read.ring(commitKey(number)))) } catch {
                        return (index, .failure(error))
                    }
                }
            }
            return await group.reduce(into: [Found]()) { $0.append($1) }
        }
        var rings: [Int?] = []
        for (_, ring) in found.sorted(by: { $0.index < $1.index }) { rings.append(try ring.get()) }
        return rings
    }

    // MARK: What a device began with

    /// What was begun with a snapshot is believed until a commit tells that its signer was revoked, as the store may have kept
    /// back that commit, or the keyring.
    func verifyBeginning(_ endorsement: Endorsement, of number: UInt64, _ key: String) throws(StoreError) {
        guard let base = entries.withLock({ $0.base(of: number) }),
            authority.isRevoked(base, under: endorsement.ring.number)
        else { return }
        throw StoreError(
            .corrupt, key: key,
            "this device began with a snapshot of a device that was revoked before this commit, which the store did not show "
                + "then: it may be made up; this device goes on from the next snapshot of one that may write, which is made "
                + "soon, while that is mounted",
            remedy: .takeSnapshot)
    }

    /// Whether this device follows from a snapshot of a former member, and has not written since.
    var isBaseDoubtful: Bool {
        guard let base = entries.withLock({ $0.base }) else { return false }
        return !authority.mayWrite(base)
    }

    /// Where its commit was trimmed, a snapshot is all that tells how far the keyring was: who was revoked in it has written
    /// nothing behind it.
    func verifyFloor(_ endorsement: Endorsement, of number: UInt64, _ key: String) throws(StoreError) {
        guard let floor = entries.withLock({ $0.floor(before: number) }),
            endorsement.ring.number < floor, authority.isRevoked(endorsement.signer, under: floor)
        else { return }
        throw StoreError(
            .corrupt, key: key,
            "it is signed by a device that was revoked when the snapshot before it was made, under keyring \(floor)")
    }

    /// This device has what a snapshot has, and goes on from there.
    ///
    /// - Parameter number: That of a snapshot that was read.
    package func goOn(from number: UInt64) {
        entries.withLock { $0.goOn(from: number) }
        remember()
    }
}

package import Model

/// The container's log: commit `n` is the object `log/n`, written once by whoever is first.
package struct ChangeLog: Sendable {
    private let store: any ObjectStore

    package static let prefix = "log/"

    package init(store: any ObjectStore) { self.store = store }

    package enum AppendOutcome: Hashable, Sendable {
        case landed
        /// Another writer was first: apply this one, reconcile, and try the next number.
        case lost(winner: ReadCommit)
    }

    /// Such as `log/00000000000000000042`: 20 digits, so that the order of the bytes is that of the numbers.
    package static func key(_ number: CommitNumber) -> String {
        let digits = String(number)
        return prefix + String(repeating: "0", count: 20 - digits.count) + digits
    }

    /// - Returns: `nil` when there is no such commit yet.
    /// - Throws: ``StoreError`` with `corrupt` when it cannot be understood, `invalid` when it is of a newer format.
    package func read(_ number: CommitNumber) async throws(StoreError) -> ReadCommit? {
        let key = Self.key(number)
        let object: [UInt8]
        do throws(StoreError) {
            object = try await store.get(key, range: nil).collect(upTo: ContainerCoding.objectByteLimit)
        } catch  where error.code == .notFound {
            return nil
        }
        let text = try ContainerCoding.unpack(object, key: key)
        return try ReadCommit(text: text, sequence: number, key: key)
    }

    /// Writes a commit at its number, if nobody has.
    ///
    /// A write may land although it fails. So after every failure the commit at that number is read back, and its nonce tells
    /// whether it is this one. After an error the caller tries again with the same commit, nonce included: should the write
    /// have landed in the meantime, it counts as landed then.
    package func append(_ commit: Commit) async throws(StoreError) -> AppendOutcome {
        let key = Self.key(commit.sequence)
        let text = try ContainerCoding.encode(commit, key: key)
        let object = try ContainerCoding.pack(text, key: key)
        do throws(StoreError) {
            try await store.create(key, .bytes(object))
            return .landed
        } catch {
            let found: ReadCommit?
            do throws(StoreError) { found = try await read(commit.sequence) } catch let second {
                // A commit that cannot be read is the graver news: the log is stuck there. Else the first error tells why.
                throw error.code == .preconditionFailed ? second : error
            }
            guard let found else {
                guard error.code == .preconditionFailed else { throw error }
                throw StoreError(.unavailable, key: key, "the store says that it is there and that it is not")
            }
            return found.commit.nonce == commit.nonce ? .landed : .lost(winner: found)
        }
    }

    /// The highest number in the log, at least `number`. A number in between that is missing is a damaged log.
    package func newest(from number: CommitNumber) async throws(StoreError) -> CommitNumber {
        var newest = number
        var after = Self.key(number)
        while true {
            let page = try await store.list(prefix: Self.prefix, after: after, limit: ObjectListing.limit)
            guard let last = page.last else { return newest }
            after = last.key
            for listing in page {
                let digits = listing.key.dropFirst(Self.prefix.count)
                // Whatever else lies there is none of ours.
                guard let found = CommitNumber(digits), Self.key(found) == listing.key else { continue }
                newest = max(newest, found)
            }
        }
    }
}

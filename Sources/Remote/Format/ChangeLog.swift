package import Model

/// The container's log: commit `n` is the object `log/n`, written once by the first writer.
package struct ChangeLog: Sendable {
    private let store: any ObjectStore

    package static let prefix = "log/"

    package init(store: any ObjectStore) { self.store = store }

    package enum AppendOutcome: Hashable, Sendable {
        case landed
        /// Another writer was first: apply its commit, reconcile, and try the next number.
        case lost(winner: DecodedCommit)
    }

    /// For example `log/00000000000000000042`: 20 digits, so that the order of the bytes is that of the numbers.
    package static func key(_ number: CommitNumber) -> String { prefix + digits(number) }

    static func digits(_ number: CommitNumber) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 20 - digits.count) + digits
    }

    /// - Returns: `nil` when there is no such commit yet.
    /// - Throws: ``StoreError`` with `corrupt` when it cannot be decoded, `invalid` when it has a newer format,
    ///   `notFound` when it was trimmed: then a snapshot covers it.
    package func read(_ number: CommitNumber) async throws(StoreError) -> DecodedCommit? {
        let key = Self.key(number)
        let object: [UInt8]
        do throws(StoreError) {
            object = try await store.get(key, range: nil).collect(upTo: ContainerCoding.objectByteLimit)
        } catch  where error.code == .notFound {
            return nil
        }
        guard !object.isEmpty else { throw StoreError(.notFound, key: key, "this commit was trimmed") }
        let text = try ContainerCoding.unpack(object, key: key)
        return try DecodedCommit(text: text, sequence: number, key: key)
    }

    /// Writes a commit at its number, if the number is free.
    ///
    /// A write may land although it fails. So after every failure the commit at that number is read back, and its nonce
    /// shows whether it is this one. After an error the caller tries again with the same commit, nonce included: if the
    /// write has landed in the meantime, it is recognised then.
    /// - Throws: why it could not be written, if no commit has the number; why the one that has it cannot be read, as
    ///   ``read(_:)`` does; `unavailable` when the store reports it both as existing and as missing; `invalid` for a
    ///   commit that is too long for one object.
    package func append(_ commit: Commit) async throws(StoreError) -> AppendOutcome {
        let key = Self.key(commit.sequence)
        let text = try CommitText.encode(commit, key: key)
        // The length of compressed text reveals how similar its names are, which a sealed store must not learn.
        let object = try ContainerCoding.pack(text, key: key, store.isSealed ? .none : .usual)
        do throws(StoreError) {
            try await store.create(key, .bytes(object))
            return .landed
        } catch {
            let found: DecodedCommit?
            do throws(StoreError) { found = try await read(commit.sequence) } catch let second {
                // An unreadable commit is the more serious error: the log is stuck there. Otherwise the first error
                // tells the cause.
                throw error.code == .preconditionFailed ? second : error
            }
            guard let found else {
                guard error.code == .preconditionFailed else { throw error }
                throw StoreError(.unavailable, key: key, "the store reports it both as existing and as missing")
            }
            return found.commit.nonce == commit.nonce ? .landed : .lost(winner: found)
        }
    }

    /// Removes a commit from the log permanently: an empty object remains, so that no device that was away reuses the
    /// number.
    package func trim(_ number: CommitNumber) async throws(StoreError) {
        try await store.put(Self.key(number), .bytes([]))
    }

    /// Whether a commit was trimmed.
    ///
    /// - Throws: ``StoreError`` with `notFound` when there is no such commit.
    package func isTrimmed(_ number: CommitNumber) async throws(StoreError) -> Bool {
        try await store.byteCount(of: Self.key(number)) == 0
    }

    /// The lowest number after `number` that is in the log.
    package func first(after number: CommitNumber) async throws(StoreError) -> CommitNumber? {
        var after = Self.key(number)
        while let listing = try await store.list(prefix: Self.prefix, after: after, limit: 1).first {
            if let found = Self.number(of: listing.key) { return found }
            after = listing.key
        }
        return nil
    }

    /// How many commits after `number` are in the log, trimmed ones included: at most ``ObjectListing/limit``.
    package func count(after number: CommitNumber) async throws(StoreError) -> Int {
        try await store.list(prefix: Self.prefix, after: Self.key(number), limit: ObjectListing.limit)
            .count { Self.number(of: $0.key) != nil }
    }

    /// Whether there is such a commit, trimmed or not.
    package func contains(_ number: CommitNumber) async throws(StoreError) -> Bool {
        do throws(StoreError) {
            _ = try await store.byteCount(of: Self.key(number))
            return true
        } catch {
            guard error.code == .notFound else { throw error }
            return false
        }
    }

    /// Checks whether a part of the log is complete.
    ///
    /// - Parameter toNext: Whether to look behind `numbers` too, which takes one request more at least.
    /// - Returns: The lowest missing commit of `numbers`, and, unless `toNext` is false and none is missing, the lowest
    ///   existing one after it, or after all of them.
    package func look(
        at numbers: ClosedRange<CommitNumber>, toNext: Bool = true
    ) async throws(StoreError) -> (missing: CommitNumber?, next: CommitNumber?) {
        var expected = numbers.lowerBound
        var after = Self.key(expected - 1)
        while toNext || expected <= numbers.upperBound {
            // Usually one or two commits are checked.
            let limit = min(UInt64(ObjectListing.limit), numbers.upperBound + (toNext ? 2 : 1) - expected)
            let page = try await store.list(prefix: Self.prefix, after: after, limit: Int(limit))
            guard let last = page.last else { return (expected <= numbers.upperBound ? expected : nil, nil) }
            for found in page.compactMap({ Self.number(of: $0.key) }) {
                if expected > numbers.upperBound { return (nil, found) }
                if found != expected { return (expected, found) }
                expected += 1
            }
            after = last.key
        }
        return (nil, nil)
    }

    /// The total stored size of a range of commits, in bytes.
    package func byteCount(after number: CommitNumber, through last: CommitNumber) async throws(StoreError) -> Int64 {
        var byteCount: Int64 = 0
        var after = Self.key(number)
        let end = Self.key(last)
        while true {
            let page = try await store.list(prefix: Self.prefix, after: after, limit: ObjectListing.limit)
            byteCount += page.prefix { !ObjectKey.precedes(end, $0.key) }.reduce(0) { $0 + $1.byteCount }
            guard let key = page.last?.key, ObjectKey.precedes(key, end) else { return byteCount }
            after = key
        }
    }

    /// - Returns: `nil` for any other object below the prefix.
    package static func number(of key: String) -> CommitNumber? { number(of: key, below: prefix) }

    /// The number at the end of a key: 1 to ``Commit/highestNumber`` in 20 digits.
    static func number(of key: String, below prefix: String) -> CommitNumber? {
        guard key.utf8.count == prefix.utf8.count + 20, let number = CommitNumber(key.dropFirst(prefix.count)),
            (1...Commit.highestNumber).contains(number), key == prefix + digits(number)
        else { return nil }
        return number
    }

    /// Examines the keys of the whole log.
    package func survey() async throws(StoreError) -> LogSurvey {
        var survey = LogSurvey()
        var after: String?
        while true {
            let page = try await store.list(prefix: Self.prefix, after: after, limit: ObjectListing.limit)
            guard let last = page.last else { return survey }
            after = last.key
            for line in page {
                if let number = Self.number(of: line.key) { survey.add(number, isTrimmed: line.byteCount == 0) }
            }
        }
    }

    /// The highest number in the log, at least `number`. A missing number in between means that the log is damaged.
    package func newest(from number: CommitNumber) async throws(StoreError) -> CommitNumber {
        var newest = number
        var after = Self.key(number)
        while true {
            let page = try await store.list(prefix: Self.prefix, after: after, limit: ObjectListing.limit)
            guard let last = page.last else { return newest }
            after = last.key
            newest = max(newest, page.compactMap { Self.number(of: $0.key) }.max() ?? 0)
        }
    }
}

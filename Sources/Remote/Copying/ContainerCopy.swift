import Crypto
import Linux
package import Model
import Synchronization

/// Copies what a container holds into another store, with its whole history, and reads back what it has written.
///
/// The log is copied in its order, after the packs that it refers to: at every moment the target is the source as it was
/// at an earlier commit. So a copy that was interrupted is continued by the next one, which skips what is there. It is a
/// container when all is there; see ``CopyMark``.
///
/// Of what is there the length is compared. A copy that wrote it has read it back: what it cannot read back, it deletes again.
package struct ContainerCopy: Sendable {
    package struct Report: Hashable, Sendable, Codable {
        package internal(set) var objectCount = 0
        package internal(set) var byteCount: Int64 = 0
        /// Objects that were there already.
        package internal(set) var presentCount = 0
        /// The newest commit.
        package internal(set) var commit: CommitNumber = 0

        package init() {}
    }

    /// Which of the two stores failed, or the directory for objects on their way.
    package struct Failure: Error, Sendable {
        package enum Side: Sendable { case source, target, scratch }

        package let side: Side
        package let error: StoreError

        package init(side: Side, error: StoreError) {
            self.side = side
            self.error = error
        }
    }

    /// How many packs are copied at once: 4.
    private static let width = 4
    /// How often the log is looked at again for commits that were written meanwhile: 100.
    private static let passLimit = 100

    private let source: any ObjectStore
    private let target: any ObjectStore
    private let scratch: String

    /// - Parameter scratch: A directory with room for objects on their way, ``width`` at a time. Their files have no
    ///   names, since they are plain: nothing of them is left when the copy is killed.
    package init(from source: any ObjectStore, to target: any ObjectStore, scratch: String) {
        self.source = source
        self.target = target
        self.scratch = scratch
    }

    /// - Throws: ``Failure``; with `invalid` for a source with adopted objects, `corrupt` for one whose log has a gap, and
    ///   for a target with another object than the source's, `preconditionFailed` when somebody has written another commit
    ///   into the target.
    package func run() async throws(Failure) -> Report {
        if try await !listing(source, .source, "adopted/").isEmpty {
            let reason = "it has adopted objects, whose bytes lie beside it: import them into the new container instead"
            throw Failure(side: .source, error: StoreError(.invalid, key: "adopted/", reason))
        }
        var report = Report()
        for _ in 0..<Self.passLimit {
            let newest = report.commit
            try await pass(&report)
            // Nothing was written meanwhile.
            if report.commit == newest { break }
        }
        return report
    }

    private func pass(_ report: inout Report) async throws(Failure) {
        // Before the packs: what these commits refer to is there.
        let commits = try await listing(source, .source, ChangeLog.prefix)
        try Self.refuseGaps(commits)
        let known = try await byteCounts(ChangeLog.prefix)
        for prefix in ["packs/", "manifests/"] { try await copyAll(prefix, &report) }
        let snapshots = try await listing(source, .source, SnapshotStore.prefix)
        let knownSnapshots = try await byteCounts(SnapshotStore.prefix)
        for line in commits + snapshots {
            guard let there = known[.container(line.key)] ?? knownSnapshots[.container(line.key)] else { continue }
            // Either commit may have been trimmed since.
            if there > 0, line.byteCount > 0 { try checkLength(there, of: line) }
        }
        // Each commit names the one before: where this one is the same, so are all before it.
        if let last = commits.last(where: { known[.container($0.key)] != nil }) { try await compare(last.key) }
        let snapshotKeys = Set(snapshots.map { ObjectAddress.container($0.key) })
        for line in commits {
            guard let number = ChangeLog.number(of: line.key), number > report.commit else { continue }
            if known[.container(line.key)] != nil {
                report.presentCount += 1
            } else {
                report.count(try await copy(line.key))
            }
            // The hash of its commit is known now.
            let snapshot = ObjectAddress.container(SnapshotStore.key(number))
            if snapshotKeys.contains(snapshot), knownSnapshots[snapshot] == nil {
                report.count(try await copySnapshot(SnapshotStore.key(number)))
            }
            report.commit = number
        }
    }

    private static func refuseGaps(_ commits: [ObjectListing]) throws(Failure) {
        var survey = LogSurvey()
        for line in commits {
            if let number = ChangeLog.number(of: line.key) { survey.add(number, isTrimmed: line.byteCount == 0) }
        }
        guard let gap = survey.gaps.first else { return }
        let reason = "it is missing, although commit \(gap.upperBound + 1) exists: a copy would have the same gap"
        throw Failure(
            side: .source, error: StoreError(.corrupt, key: ChangeLog.key(gap.lowerBound), reason))
    }

    /// Copies the objects below a prefix that are not there yet, several at once.
    private func copyAll(_ prefix: String, _ report: inout Report) async throws(Failure) {
        let known = try await byteCounts(prefix)
        var wanted: [String] = []
        for line in try await listing(source, .source, prefix) {
            if let there = known[.container(line.key)] {
                try checkLength(there, of: line)
            } else {
                wanted.append(line.key)
            }
        }
        let line = Line(wanted)
        let results = await withTaskGroup(of: Result<[Int64?], Failure>.self) { group in
            for _ in 0..<Self.width {
                group.addTask {
                    var byteCounts: [Int64?] = []
                    while let key = line.next() {
                        do throws(Failure) { byteCounts.append(try await copy(key)) } catch {
                            line.end()
                            return .failure(error)
                        }
                    }
                    return .success(byteCounts)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        for result in results { for byteCount in try result.get() { report.count(byteCount) } }
    }

    // MARK: What is there

    private func checkLength(_ there: Int64, of line: ObjectListing) throws(Failure) {
        // A sealed store lists padded lengths, which are the same when they are padded again.
        let isSame =
            target.isSealed
            ? target.listedByteCount(line.byteCount, of: line.key) == there
            : source.listedByteCount(there, of: line.key) == line.byteCount
        if !isSame { throw Self.difference(line.key) }
    }

    private static func difference(_ key: String) -> Failure {
        let reason =
            "it has another length than that of the source: find out which of the two is damaged (dewpoint check --bytes); if it is that of "
            + "the copy, remove it there, and copy again"
        return Failure(side: .target, error: StoreError(.corrupt, key: key, reason))
    }

    /// - Throws: ``Failure`` when the target has another commit of that number.
    private func compare(_ key: String) async throws(Failure) {
        let limit = Int(Self.memoryByteLimit)
        let here = try await side(.source) { () async throws(StoreError) in
            try await source.get(key, range: nil).collect(upTo: limit)
        }
        let there = try await side(.target) { () async throws(StoreError) in
            try await target.get(key, range: nil).collect(upTo: limit)
        }
        // Either may have been trimmed since.
        guard here == there || here.isEmpty || there.isEmpty else {
            let reason = "the target has another commit of this number"
            throw Failure(side: .target, error: StoreError(.preconditionFailed, key: key, reason))
        }
    }

    /// The keys that are still to be copied.
    private final class Line: Sendable {
        private let keys: Mutex<ArraySlice<String>>

        init(_ keys: [String]) { self.keys = Mutex(keys[...]) }

        func next() -> String? { keys.withLock { $0.popFirst() } }
        func end() { keys.withLock { $0 = [] } }
    }

    // MARK: One object

    /// - Returns: Its length; `nil` for one that garbage collection has deleted meanwhile.
    private func copy(_ key: String) async throws(Failure) -> Int64? {
        guard let (file, byteCount, digest) = try await fetch(key) else { return nil }
        try await side(.target) { () async throws(StoreError) in
            let body = byteCount == 0 ? Body.bytes([]) : try Self.body(file, byteCount, key)
            var isOwn = true
            do throws(StoreError) { try await target.create(key, body) } catch {
                // The write may have landed although it failed: what is there is compared.
                guard error.code == .preconditionFailed else { throw error }
                isOwn = false
            }
            do throws(StoreError) {
                guard try await Self.digest(of: key, in: target) == digest else {
                    throw StoreError(.preconditionFailed, key: key, "the target has another object of this name")
                }
            } catch {
                // The next copy would take it for one that was read back. A commit stays, which others may be based on: the last
                // one is compared by its bytes.
                if isOwn, !key.utf8.starts(with: ChangeLog.prefix.utf8) { try? await target.delete(key) }
                throw error
            }
        }
        return byteCount
    }

    /// - Returns: `nil` also for one that is signed by who was revoked since, which no new device would believe. Whether the
    ///   copy has what a new device needs is looked at when it is complete.
    private func copySnapshot(_ key: String) async throws(Failure) -> Int64? {
        do throws(Failure) { return try await copy(key) } catch {
            guard error.side == .source, error.error.code == .corrupt else { throw error }
            let isFormer = try await side(.source) { () async throws(StoreError) in
                try await source.isSignedByFormerMember(key)
            }
            guard isFormer else { throw error }
            return nil
        }
    }

    /// The most that is held in memory: 64 MiB, as of a commit.
    private static let memoryByteLimit: Int64 = 64 << 20

    private static func body(_ file: NamelessFile, _ byteCount: Int64, _ key: String) throws(StoreError) -> Body {
        // A commit is signed by its bytes in memory.
        guard byteCount <= memoryByteLimit, key.utf8.starts(with: ChangeLog.prefix.utf8) else {
            return .nameless(file, byteCount: byteCount)
        }
        do throws(FileError) {
            return .bytes(try file.file.read(byteCount: Int(byteCount), at: 0))
        } catch {
            throw error.storeError(key: key)
        }
    }

    private static func digest(
        of key: String, in store: any ObjectStore
    ) async throws(StoreError) -> SHA256.Digest {
        var hasher = SHA256()
        let object = try await store.get(key, range: nil)
        while let piece = try await object.next() { hasher.update(data: piece) }
        return hasher.finalize()
    }

    private func fetch(_ key: String) async throws(Failure) -> (NamelessFile, Int64, SHA256.Digest)? {
        let file = try local(key) { () throws(FileError) in try NamelessFile(in: scratch) }
        var hasher = SHA256()
        var byteCount: Int64 = 0
        do throws(Failure) {
            let object = try await side(.source) { () async throws(StoreError) in try await source.get(key, range: nil)
            }
            while let piece = try await side(.source, { () async throws(StoreError) in try await object.next() }) {
                hasher.update(data: piece)
                byteCount += Int64(piece.count)
                try local(key) { () throws(FileError) in
                    try piece.withBytes { bytes throws(FileError) in try file.file.append(bytes) }
                }
            }
        } catch {
            guard error.error.code == .notFound, error.side == .source else { throw error }
            return nil
        }
        return (file, byteCount, hasher.finalize())
    }

    private func local<Value>(_ key: String, _ work: () throws(FileError) -> Value) throws(Failure) -> Value {
        do throws(FileError) { return try work() } catch {
            throw Failure(side: .scratch, error: error.storeError(key: key))
        }
    }

    // MARK: Listings

    /// What the target has.
    private func byteCounts(_ prefix: String) async throws(Failure) -> [ObjectAddress: Int64] {
        let lines = try await listing(target, .target, prefix).map { (ObjectAddress.container($0.key), $0.byteCount) }
        return Dictionary(lines) { $1 }
    }

    private func listing(
        _ store: any ObjectStore, _ side: Failure.Side, _ prefix: String
    ) async throws(Failure) -> [ObjectListing] {
        try await self.side(side) { () async throws(StoreError) in
            var lines: [ObjectListing] = []
            while true {
                let page = try await store.list(prefix: prefix, after: lines.last?.key, limit: ObjectListing.limit)
                if page.isEmpty { return lines }
                lines += page
            }
        }
    }

    private func side<Value>(
        _ side: Failure.Side, _ body: () async throws(StoreError) -> Value
    ) async throws(Failure) -> Value {
        do throws(StoreError) { return try await body() } catch { throw Failure(side: side, error: error) }
    }
}

extension ContainerCopy.Report {
    /// - Parameter byteCount: `nil` when nothing was copied.
    fileprivate mutating func count(_ byteCount: Int64?) {
        guard let byteCount else { return }
        objectCount += 1
        self.byteCount += byteCount
    }
}

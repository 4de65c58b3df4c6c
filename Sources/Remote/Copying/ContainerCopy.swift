import Crypto
import Foundation
import Linux
package import Model
import Synchronization

/// Copies what a container holds into another store, with its whole history, and reads back what it has written.
///
/// The log is copied in its order, after the packs that it refers to: at every moment the target is the source as it was
/// at an earlier commit. So a copy that was interrupted is continued by the next one, which skips what is there.
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

    /// Which of the two stores failed.
    package struct Failure: Error, Sendable {
        package enum Side: Sendable { case source, target }

        package let side: Side
        package let error: StoreError
    }

    /// How many packs are copied at once: 4.
    private static let width = 4
    /// How often the log is looked at again for commits that were written meanwhile: 100.
    private static let passLimit = 100

    private let source: any ObjectStore
    private let target: any ObjectStore
    private let scratch: String

    /// - Parameter scratch: A directory for objects on their way, of which ``width`` are there at a time.
    package init(from source: any ObjectStore, to target: any ObjectStore, scratch: String) {
        self.source = source
        self.target = target
        self.scratch = scratch
    }

    /// - Throws: ``Failure``; with `invalid` for a source with adopted objects, `preconditionFailed` when somebody has
    ///   written another commit into the target.
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
        for prefix in ["packs/", "manifests/"] { try await copyAll(prefix, &report) }
        let snapshots = Set(
            try await listing(source, .source, SnapshotStore.prefix).map { ObjectAddress.container($0.key) })
        let known = try await keys(ChangeLog.prefix)
        let knownSnapshots = try await keys(SnapshotStore.prefix)
        // Each commit names the one before: where this one is the same, so are all before it.
        if let last = commits.last(where: { known.contains(.container($0.key)) }) { try await compare(last.key) }
        for line in commits {
            guard let number = ChangeLog.number(of: line.key), number > report.commit else { continue }
            if known.contains(.container(line.key)) {
                report.presentCount += 1
            } else {
                report.count(try await copy(line.key))
            }
            // The hash of its commit is known now.
            let snapshot = SnapshotStore.key(number)
            if snapshots.contains(.container(snapshot)), !knownSnapshots.contains(.container(snapshot)) {
                report.count(try await copy(snapshot))
            }
            report.commit = number
        }
    }

    /// Copies the objects below a prefix that are not there yet, several at once.
    private func copyAll(_ prefix: String, _ report: inout Report) async throws(Failure) {
        let known = try await keys(prefix)
        let wanted = try await listing(source, .source, prefix).map(\.key).filter { !known.contains(.container($0)) }
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
        let path = "\(scratch)/copy-\(UUID().uuidString.lowercased())"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let fetched = try await side(.source) { () async throws(StoreError) in try await fetch(key, to: path) }
        guard let (byteCount, digest) = fetched else { return nil }
        try await side(.target) { () async throws(StoreError) in
            let body = byteCount == 0 ? Body.bytes([]) : try Self.body(path, byteCount, key)
            do throws(StoreError) { try await target.create(key, body) } catch {
                // The write may have landed although it failed: what is there is compared.
                guard error.code == .preconditionFailed else { throw error }
            }
            var written = SHA256()
            let object = try await target.get(key, range: nil)
            while let piece = try await object.next() { written.update(data: piece) }
            guard written.finalize() == digest else {
                throw StoreError(.preconditionFailed, key: key, "the target has another object of this name")
            }
        }
        return byteCount
    }

    /// The most that is held in memory: 64 MiB, as of a commit.
    private static let memoryByteLimit: Int64 = 64 << 20

    private static func body(_ path: String, _ byteCount: Int64, _ key: String) throws(StoreError) -> Body {
        // A commit is signed by its bytes in memory.
        guard byteCount <= memoryByteLimit, key.utf8.starts(with: ChangeLog.prefix.utf8) else {
            return .file(path: path, range: 0..<byteCount)
        }
        do throws(FileError) {
            return .bytes(try Descriptor(path).read(byteCount: Int(byteCount), at: 0))
        } catch {
            throw error.storeError(key: key)
        }
    }

    private func fetch(_ key: String, to path: String) async throws(StoreError) -> (Int64, SHA256.Digest)? {
        let file: Descriptor
        do throws(FileError) { file = try Descriptor(path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600) } catch {
            throw error.storeError(key: key)
        }
        var hasher = SHA256()
        var byteCount: Int64 = 0
        do throws(StoreError) {
            let object = try await source.get(key, range: nil)
            while let piece = try await object.next() {
                hasher.update(data: piece)
                byteCount += Int64(piece.count)
                do throws(FileError) { try piece.withBytes { bytes throws(FileError) in try file.append(bytes) } } catch
                {
                    throw error.storeError(key: key)
                }
            }
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
        return (byteCount, hasher.finalize())
    }

    // MARK: Listings

    private func keys(_ prefix: String) async throws(Failure) -> Set<ObjectAddress> {
        Set(try await listing(target, .target, prefix).map { .container($0.key) })
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

import Glibc
package import Model
import Synchronization
import Linux

/// The objects `snapshot/NUMBER`: gzip of a SQLite file with all items as of a commit, for devices that do not read the
/// whole log.
///
/// There may be any number of them, or none. A damaged one is skipped, and the next lower one is used.
package struct SnapshotStore: Sendable {
    package static let prefix = "snapshot/"

    /// The longest snapshot object: 5 GiB, the most that one PUT takes on S3.
    static let objectByteLimit: Int64 = 5 << 30
    /// The longest SQLite file that is decompressed: 64 GiB, and 64 MiB more than 64 times the object.
    static let fileByteLimit: Int64 = 64 << 30

    private let store: any ObjectStore
    private let queue = BlockingQueue(name: "dewpoint.snapshots")

    package init(store: any ObjectStore) { self.store = store }

    /// For example `snapshot/00000000000000000040`: digits as in the log.
    package static func key(_ number: CommitNumber) -> String { prefix + ChangeLog.digits(number) }

    /// The numbers of the snapshots after `number`, ascending; they may be unreadable.
    package func numbers(after number: CommitNumber = 0) async throws(StoreError) -> [CommitNumber] {
        var numbers: [CommitNumber] = []
        var after = Self.key(number)
        while true {
            let page = try await store.list(prefix: Self.prefix, after: after, limit: ObjectListing.limit)
            guard let last = page.last else { return numbers }
            after = last.key
            // Any other object is not ours.
            numbers += page.compactMap { ChangeLog.number(of: $0.key, below: Self.prefix) }
        }
    }

    /// Compresses a SQLite file and writes it as the snapshot of a number, unless there is one. Another device's is
    /// equivalent.
    ///
    /// - Parameter scratch: A path that does not exist, for the compressed file. The caller removes it.
    /// - Throws: ``StoreError`` with `invalid` for a file that is too long for one object.
    package func create(
        _ number: CommitNumber, from path: String, through scratch: String
    ) async throws(StoreError) {
        let key = Self.key(number)
        let byteCount = try await queue.run { () throws(StoreError) in
            do throws(FileError) {
                return try Gzip.compress(file: path, to: scratch)
            } catch {
                throw error.storeError(key: key)
            }
        }
        guard byteCount <= Self.objectByteLimit else {
            throw StoreError(.invalid, key: key, "\(byteCount) bytes are too long for one object")
        }
        do throws(StoreError) {
            try await store.create(key, .file(path: scratch, range: 0..<byteCount))
        } catch  where error.code == .preconditionFailed {
            // There is a snapshot of this state already.
        }
    }

    /// Fetches and decompresses a snapshot.
    ///
    /// - Parameter path: A file that does not exist; after a failure the caller removes its remains. `nil` only to
    ///   verify the object.
    /// - Throws: ``StoreError`` with `corrupt` when it is not what was written, `notFound` when there is none.
    package func fetch(_ number: CommitNumber, to path: String?) async throws(StoreError) {
        let key = Self.key(number)
        let target: Descriptor?
        do throws(FileError) {
            target = try path.map { path throws(FileError) in
                try Descriptor(path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            }
        } catch {
            throw error.storeError(key: key)
        }
        let unpacking = Unpacking(GzipUnpacker(limit: Self.fileByteLimit))
        let stream = try await store.get(key, range: nil)
        var byteCount: Int64 = 0
        while let piece = try await stream.next() {
            byteCount += Int64(piece.count)
            guard byteCount <= Self.objectByteLimit else {
                throw StoreError(.corrupt, key: key, "longer than the limit")
            }
            try await queue.run { () throws(StoreError) in try unpacking.take(piece, into: target, key: key) }
        }
        try unpacking.finish(key: key)
    }

    package func delete(_ number: CommitNumber) async throws(StoreError) { try await store.delete(Self.key(number)) }
}

/// The unpacker, passed between threads.
private final class Unpacking: Sendable {
    private let unpacker: Mutex<GzipUnpacker>

    init(_ unpacker: sending GzipUnpacker) { self.unpacker = Mutex(unpacker) }

    func take(_ piece: [UInt8], into target: Descriptor?, key: String) throws(StoreError) {
        let failure = unpacker.withLock { unpacker -> GzipUnpacker.Failure? in
            do throws(GzipUnpacker.Failure) {
                try unpacker.take(piece) { (bytes) throws(FileError) in try target?.append(bytes) }
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure.storeError(key: key) }
    }

    func finish(key: String) throws(StoreError) {
        let failure = unpacker.withLock { unpacker -> GzipUnpacker.Failure? in
            do throws(GzipUnpacker.Failure) {
                try unpacker.finish()
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure.storeError(key: key) }
    }
}

extension GzipUnpacker.Failure {
    fileprivate func storeError(key: String) -> StoreError {
        switch self {
        case .damaged: StoreError(.corrupt, key: key, "not a complete gzip member")
        case .tooLong: StoreError(.corrupt, key: key, "unpacks to more than the limit")
        case .notWritten(let failure): failure.storeError(key: key)
        }
    }
}

import Foundation
import Glibc
import Model
import Replica
import Synchronization

/// What a writer wrote before its turn came, in the order in which it did: applied as one block when the turn comes.
///
/// The bytes lie in a file without a name, so that a crash leaves nothing behind: they were written but never fsynced.
final class DeferredWrites: Sendable {
    /// How much one writer may have waiting. Beyond it, its writes fail with ENOSPC until its turn has come.
    static let byteLimit: Int64 = 4 << 30

    enum Change: Sendable {
        /// At an offset, or at the end of the file as it is when the turn comes.
        case write(offset: Int64?, source: Int64, byteCount: Int)
        case truncate(Int64)
        case allocate(mode: Int32, offset: Int64, byteCount: Int64)
    }

    private struct State {
        var changes: [Change] = []
        var next = 0
        var byteCount: Int64 = 0
        var handles: Set<HandleID> = []
    }

    let descriptor: Descriptor
    private let state = Mutex(State())

    init(stagingDirectory: String, name: String) throws(FileError) {
        let path = "\(stagingDirectory)/deferred-\(name)"
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw FileError(systemCall: errno, "open \(path)") }
        descriptor = Descriptor(owning: file)
        guard unlink(path) == 0 else { throw FileError(systemCall: errno, "unlink \(path)") }
    }

    func append(_ bytes: UnsafeRawBufferPointer, at offset: Int64?) throws(FileError) {
        let source: Int64? = state.withLock { state in
            guard state.byteCount + Int64(bytes.count) <= Self.byteLimit else { return nil }
            defer { state.byteCount += Int64(bytes.count) }
            return state.byteCount
        }
        guard let source else { throw FileError(.diskFull, "too much is waiting for another writer to finish") }
        try descriptor.write(bytes, at: source)
        append(.write(offset: offset, source: source, byteCount: bytes.count))
    }

    /// Who is to hear of it when a change fails.
    var handles: Set<HandleID> { state.withLock { $0.handles } }

    func note(_ handle: HandleID) { _ = state.withLock { $0.handles.insert(handle) } }

    func append(_ change: Change) { state.withLock { $0.changes.append(change) } }

    /// The next change to apply.
    func takeNext() -> Change? {
        state.withLock { state in
            guard state.next < state.changes.count else { return nil }
            defer { state.next += 1 }
            return state.changes[state.next]
        }
    }

    /// How many changes were taken in all.
    var takenCount: Int { state.withLock { $0.next } }
}

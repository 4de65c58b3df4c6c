import Glibc
import Model
import Synchronization

/// One open file description.
final class OpenHandle: Sendable {
    let id: HandleID
    let inode: OpenInode
    /// The flags of `open(2)`.
    let flags: Int32

    private struct LastCaller {
        var thread: Int32 = 0
        var process: Int32 = 0
    }

    private let lastCaller = Mutex(LastCaller())
    /// Who took record locks through this handle and has not closed since: what a last close must let go.
    ///
    /// An open file description that owns locks itself (`F_OFD_SETLK`) has no flush of its own.
    private let owners = Mutex<Set<UInt64>>([])

    init(id: HandleID, inode: OpenInode, flags: Int32) {
        self.id = id
        self.inode = inode
        self.flags = flags
    }

    var isWritable: Bool { flags & O_ACCMODE != O_RDONLY }
    var appends: Bool { flags & O_APPEND != 0 }

    /// Which process was found to be allowed to download by reading, under which state of the rules.
    struct Admission: Equatable {
        var process: Int32
        var generation: UInt64
    }

    private let admitted = Mutex<Admission?>(nil)

    var admission: Admission? { admitted.withLock { $0 } }

    func note(_ admission: Admission) { admitted.withLock { $0 = admission } }

    private let demanded = Mutex(false)

    /// Whether bytes that are not here were read through it, and may be.
    var hasDemanded: Bool { demanded.withLock { $0 } }

    func noteDemand() { demanded.withLock { $0 = true } }

    private let flushed = Mutex(false)

    /// Whether a close(2) of it was seen: its release, which ends its locks, may be on its way.
    var mayBeClosing: Bool { flushed.withLock { $0 } }

    func noteFlush() { flushed.withLock { $0 = true } }

    /// Who took record locks through this handle and was not ended by a flush.
    var lockOwners: Set<UInt64> { owners.withLock { $0 } }

    func noteLockOwner(_ owner: UInt64) { _ = owners.withLock { $0.insert(owner) } }

    func forgetLockOwner(_ owner: UInt64) { _ = owners.withLock { $0.remove(owner) } }

    /// The process of the thread that opened it is known.
    func note(process: Int32, ofThread thread: Int32) {
        lastCaller.withLock { $0 = LastCaller(thread: thread, process: process) }
    }

    /// The process of a calling thread, looked up once as long as the same thread calls.
    func process(of caller: Caller) -> Int32 {
        lastCaller.withLock { last in
            if last.thread != caller.thread {
                last = LastCaller(thread: caller.thread, process: ProcessTable.process(ofThread: caller.thread))
            }
            return last.process
        }
    }
}

import Glibc
import Model
import Synchronization

/// One open file description.
package final class OpenHandle: Sendable {
    let id: HandleID
    let inode: OpenInode
    /// The flags of `open(2)`.
    let flags: Int32
    /// Who opened it, by which request.
    let opener: Caller
    /// Where it is kept for the next daemon; `nil` where the mount ends with this one.
    let slot: HandleSlots.Slot?
    private let slots: HandleSlots?

    private struct LastCaller {
        var thread: Int32 = 0
        var process: Int32 = 0
    }

    private let lastCaller = Mutex(LastCaller())
    /// The owners of record locks taken through this handle that have not closed it since: the last close must release
    /// their locks.
    ///
    /// An open file description that owns locks itself (`F_OFD_SETLK`) has no flush of its own.
    private let owners = Mutex<Set<UInt64>>([])

    init(id: HandleID, inode: OpenInode, flags: Int32, opener: Caller, slot: HandleSlots.Slot?, of slots: HandleSlots?)
    {
        self.id = id
        self.inode = inode
        self.flags = flags
        self.opener = opener
        self.slot = slot
        self.slots = slots
    }

    package var isWritable: Bool { flags & O_ACCMODE != O_RDONLY }

    /// Whether the file can be mapped for writing, shared. Related: mmap(2), `EACCES`.
    var isMappableForWriting: Bool { flags & O_ACCMODE == O_RDWR }
    var appends: Bool { flags & O_APPEND != 0 }

    /// The process admitted to download by reading, and the state of the rules at that time.
    struct Admission {
        var process: Int32
        /// Only this thread was admitted; `nil`: all threads.
        var thread: Int32?
        var generation: UInt64

        func covers(_ process: Int32, thread: Int32, _ generation: UInt64) -> Bool {
            self.process == process && self.generation == generation && (self.thread ?? thread) == thread
        }
    }

    private let admitted = Mutex<Admission?>(nil)

    var admission: Admission? { admitted.withLock { $0 } }

    func note(_ admission: Admission) { admitted.withLock { $0 = admission } }

    private let demanded = Mutex(false)

    /// Whether bytes that are not local were read through it, and may be.
    var hasDemanded: Bool { demanded.withLock { $0 } }

    func noteDemand() { demanded.withLock { $0 = true } }

    private let flushed = Mutex(false)

    /// Whether a close(2) of it was seen: its release, which ends its locks, may be under way.
    var mayBeClosing: Bool { flushed.withLock { $0 } }

    func noteFlush() {
        let wasFlushed = flushed.withLock { flushed in
            defer { flushed = true }
            return flushed
        }
        if !wasFlushed { inode.closing() }
    }

    /// The owners of record locks taken through this handle that no flush has ended.
    var lockOwners: Set<UInt64> { owners.withLock { $0 } }

    func noteLockOwner(_ owner: UInt64) { changeOwners { $0.insert(owner).inserted } }

    func forgetLockOwner(_ owner: UInt64) { changeOwners { $0.remove(owner) != nil } }

    /// - Parameter change: Returns whether it has changed anything.
    private func changeOwners(_ change: (inout Set<UInt64>) -> Bool) {
        owners.withLock { owners in
            if change(&owners), let slot { slots?.note(owners: owners, in: slot) }
        }
    }

    /// Takes over the owners from the daemon before.
    func restoreLockOwners() {
        guard let slots, let slot else { return }
        owners.withLock { $0.formUnion(slots.owners(in: slot)) }
    }

    /// Records the process of the thread that opened the file.
    func note(process: Int32, ofThread thread: Int32) {
        lastCaller.withLock { $0 = LastCaller(thread: thread, process: process) }
    }

    /// The process that opened the file or used it last; 0 when nobody asked for it.
    package var lastProcess: Int32 { lastCaller.withLock { $0.process } }

    /// The process of a calling thread, looked up once while the same thread keeps calling.
    func process(of caller: Caller) -> Int32 {
        lastCaller.withLock { last in
            if last.thread != caller.thread {
                last = LastCaller(thread: caller.thread, process: ProcessTable.process(ofThread: caller.thread))
            }
            return last.process
        }
    }
}

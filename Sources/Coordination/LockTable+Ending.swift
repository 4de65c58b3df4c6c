package import Model

/// Why a writer's session ends although nobody may be waiting.
package enum EndReason: Hashable, Sendable {
    /// A close(2) by this process of this handle: the session ends once all who wrote in it have closed.
    case close
    /// The holder's fsync(2) is done.
    case fsync
}

extension LockTable {
    /// The writer's session ends between two writes. Nothing happens if it has none.
    package mutating func end(
        _ inode: InodeNumber, by writer: Writer, reason: EndReason, now: Moment
    ) -> [Effect] {
        guard orders[inode] != nil else { return [] }
        var order = take(inode)
        var effects: [Effect] = []
        switch reason {
        case .close:
            order.leave(inode, now: now, &effects, died: false) { $0 == writer }
        case .fsync where order.holder?.belongs(to: writer) == true:
            order.endSession(inode, now: now, &effects)
        case .fsync:
            break
        }
        put(order, inode, now: now, &effects)
        return effects
    }

    /// The last close of a handle: its flock lock ends. Writes deferred through it are kept and applied in their turn.
    package mutating func handleClosed(_ inode: InodeNumber, _ handle: OpenHandleID, now: Moment) -> [Effect] {
        var effects: [Effect] = []
        if orders[inode] != nil {
            var order = take(inode)
            order.leave(inode, now: now, &effects, died: false) { $0.handle == handle }
            put(order, inode, now: now, &effects)
        }
        advisory.releaseFlock(of: handle, on: inode, now: now, &effects)
        return effects
    }

    /// A process is gone: its sessions and record locks end, what it waited for is cancelled, what it deferred is kept.
    /// Its claims are revoked, and its presenters are gone.
    ///
    /// Its flock locks stay, for a child may share the open file description; they end with the last close.
    package mutating func processDied(_ process: ProcessID, now: Moment) -> [Effect] {
        guard process != .kernel else { return [] }
        var effects: [Effect] = []
        for inode in (filesByProcess[process] ?? []).sorted() {
            var order = take(inode)
            order.cancel(&effects) { $0.writer.process == process }
            order.leave(inode, now: now, &effects, died: true) { $0.process == process }
            put(order, inode, now: now, &effects)
        }
        effects += advisory.processDied(process, now: now)
        processOfClaimsDied(process, now: now, &effects)
        return effects
    }

    /// All sessions of a process end, because it unlocked an advisory lock of any file.
    ///
    /// Of any file: SQLite in WAL mode locks one file and writes another.
    package mutating func endSessions(of process: ProcessID, now: Moment) -> [Effect] {
        guard process != .kernel, let inodes = filesByProcess[process] else { return [] }
        let writer = Writer(process: process, handle: nil)
        var effects: [Effect] = []
        for inode in inodes.sorted() where orders[inode]?.holder?.belongs(to: writer) == true {
            var order = take(inode)
            order.endSession(inode, now: now, &effects)
            put(order, inode, now: now, &effects)
        }
        return effects
    }
}

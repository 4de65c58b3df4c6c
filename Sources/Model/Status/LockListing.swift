/// The holders and waiters of an item: one node of the output of `dewpoint locks`.
package struct LockListing: Hashable, Sendable, Codable {
    /// Relative to the container's root; empty for a file without a name.
    package var path: String
    package var inode: InodeNumber
    package var holders: [Party]
    package var waiters: [Party]
    package var presenters: [PresenterProxy]
    /// Its parent directory; `nil` for the root, and where there are no claims.
    package var parent: InodeNumber?

    /// A client that presents the item.
    package struct PresenterProxy: Hashable, Sendable, Codable {
        package var process: Int32
        package var command: String
        /// Whether it has left a question unanswered for too long.
        package var isUnresponsive: Bool
        /// Its unanswered questions, oldest first.
        package var unanswered: [PresenterMethod]

        package init(process: Int32, command: String, isUnresponsive: Bool, unanswered: [PresenterMethod]) {
            self.process = process
            self.command = command
            self.isUnresponsive = isUnresponsive
            self.unanswered = unanswered
        }
    }

    package struct Party: Hashable, Sendable, Codable {
        /// `read claim`, `write claim`, `batch`, `eviction`, `turn`, `record lock`, `flock`, `open`, `write`, `name
        /// change`.
        package var kind: String
        /// For example `exclusive, bytes 0-511`; empty when there is nothing to add.
        package var detail: String
        package var processes: [Int32]
        /// The name of the first process (`/proc/PID/comm`), or empty.
        package var command: String
        package var ageSeconds: Double
        /// The processes that a waiter waits for; empty for a holder.
        package var waitsFor: [Int32]
        /// The argument of ``BreakRequest``; `nil` when it is not a claim.
        package var claim: UInt64?
        /// The pid namespace of the first process if it is not the daemon's, for example `pid:[4026532201]`: its
        /// process ids differ.
        package var namespace: String?
        /// Whether it is part of a deadlock: it waits for a process that waits for it.
        package var isDeadlocked: Bool?

        package init(
            kind: String, detail: String, processes: [Int32], command: String, ageSeconds: Double, waitsFor: [Int32],
            claim: UInt64? = nil
        ) {
            self.claim = claim
            self.kind = kind
            self.detail = detail
            self.processes = processes
            self.command = command
            self.ageSeconds = ageSeconds
            self.waitsFor = waitsFor
        }
    }

    package init(
        path: String, inode: InodeNumber, holders: [Party], waiters: [Party], presenters: [PresenterProxy] = [],
        parent: InodeNumber? = nil
    ) {
        self.presenters = presenters
        self.parent = parent
        self.path = path
        self.inode = inode
        self.holders = holders
        self.waiters = waiters
    }
}

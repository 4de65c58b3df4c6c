/// Who holds an item and who waits for it: one node of what `dewpoint locks` prints.
package struct LockListing: Hashable, Sendable, Codable {
    /// Below the container's root; empty for a file without a name any more.
    package var path: String
    package var inode: InodeNumber
    package var holders: [Party]
    package var waiters: [Party]

    package struct Party: Hashable, Sendable, Codable {
        /// `write session`, `record lock`, `flock`, `deferred writes`, `read`, `close`, `fsync`, `open`.
        package var kind: String
        /// Such as `exclusive, bytes 0-511`; empty when there is nothing to add.
        package var detail: String
        package var processes: [Int32]
        /// The name of the first process (`/proc/PID/comm`), or empty.
        package var command: String
        package var ageSeconds: Double
        /// The processes a waiter waits for; empty for a holder.
        package var waitsFor: [Int32]

        package init(
            kind: String, detail: String, processes: [Int32], command: String, ageSeconds: Double, waitsFor: [Int32]
        ) {
            self.kind = kind
            self.detail = detail
            self.processes = processes
            self.command = command
            self.ageSeconds = ageSeconds
            self.waitsFor = waitsFor
        }
    }

    package init(path: String, inode: InodeNumber, holders: [Party], waiters: [Party]) {
        self.path = path
        self.inode = inode
        self.holders = holders
        self.waiters = waiters
    }
}

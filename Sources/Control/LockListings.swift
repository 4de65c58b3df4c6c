import Coordination
package import FileSystem
package import Model
import Replica

extension FileSystem {
    /// The locks, turns and claims of every item, or of one.
    ///
    /// - Parameter number: Only those on this inode; `nil` for all.
    package func locks(on number: InodeNumber? = nil) throws(FileError) -> [LockListing] {
        let now = lockManager.now
        let (all, deadlocked) = lockManager.ask { ($0.snapshot(now: now), $0.deadlockedSets) }
        let nodes = all.filter { number == nil || $0.inode == number }
        // In one read: many in a deep tree have most of their directories in common.
        let paths = try replica.read { try $0.paths(of: nodes.map(\.inode)) }
        return nodes.map { node in
            // A file without a name is listed too.
            var listing = node.listing(path: paths[node.inode]?.string ?? "") {
                ProcessTable.command(of: $0.rawValue)
            } namespace: {
                ProcessTable.otherNamespace(of: $0.rawValue)
            }
            for index in listing.waiters.indices {
                guard let claim = listing.waiters[index].claim, deadlocked.contains(ClaimSetID(claim)) else { continue }
                listing.waiters[index].isDeadlocked = true
            }
            return listing
        }
    }
}

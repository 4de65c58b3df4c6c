package import Model
import Replica
import Sync

/// The references of the kernel to inodes: requests by their numbers are answered until it forgets them.
extension FileSystem {
    /// How often a name is looked up anew whose file was deleted in between.
    private static let lookupAttempts = 8

    /// Looks up a name for the kernel, which gets a reference to the inode.
    ///
    /// Each success is followed by one reply, or by ``forget(_:_:)``.
    ///
    /// - Parameter isUse: Whether a program uses the mount by it.
    package func lookupReferenced(
        _ name: ItemName, in parent: InodeNumber, isUse: Bool = true
    ) throws(FileError) -> Attributes {
        if isUse { syncEngine.follower.use.note() }
        for _ in 0..<Self.lookupAttempts {
            let moment = referenceMoment
            let recordings = files.open.recordingCount
            let previewed = try previewed(name, in: parent)
            let found = if let previewed { previewed } else { try replica.look { try $0.lookup(name, in: parent) } }
            // From here on it is not deleted, so that what follows finds it.
            guard reference(found.inode, since: moment) else { continue }
            if previewed != nil { return found }
            do throws(FileError) {
                return try current(found, since: recordings)
            } catch {
                forget(found.inode)
                throw error
            }
        }
        throw FileError(.superseded, "\(name) was replaced again and again")
    }

    /// Counts a reference of the kernel to an inode that was just created, or got another name.
    ///
    /// Called before the reply: the kernel may forget the inode before this thread continues.
    package func referenced(_ attributes: Attributes) -> Attributes {
        files.orphans.references.add(attributes.inode)
        return attributes
    }

    /// A position for ``reference(_:since:)``.
    package var referenceMoment: UInt64 { files.orphans.references.moment }

    /// Counts a reference of the kernel to an inode of a listing that was made after a moment.
    /// - Returns: `false` if it may have been deleted since.
    package func reference(_ inode: InodeNumber, since moment: UInt64) -> Bool {
        files.orphans.references.add(inode, since: moment)
    }

    /// The kernel gives references to an inode back, or did not take a reply.
    package func forget(_ inode: InodeNumber, _ count: UInt64 = 1) {
        if files.orphans.references.remove(inode, count) { forgetIfOrphan(inode) }
    }
}

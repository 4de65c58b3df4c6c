package import Model

/// A name in a directory of the mount.
package struct EntryName: Hashable, Sendable {
    package var parent: InodeNumber
    package var name: ItemName

    package init(_ name: ItemName, in parent: InodeNumber) {
        self.name = name
        self.parent = parent
    }
}

/// A change of the tree that no program makes through the mount: another device made it, a download or a command.
///
/// The kernel does not know of it, and neither do the programs that watch the tree (inotify(7)).
package enum TreeChange: Hashable, Sendable {
    /// There is an item where none was.
    case appeared(EntryName, InodeNumber, ItemKind)
    case removed(EntryName, InodeNumber, ItemKind)
    case moved(from: EntryName, to: EntryName, InodeNumber, ItemKind)
    /// The name refers to another inode of the same item: one with other bytes.
    case replaced(EntryName, old: InodeNumber, new: InodeNumber)
    /// The bytes of a file that was a placeholder are local.
    case arrived(InodeNumber)
    /// The mode, the times, the size or the state of an item changed.
    case attributesChanged(InodeNumber)
    /// What the kernel has cached of an inode and, with `bytes`, of its contents may be out of date, whatever programs
    /// see of that.
    case inodeChanged(InodeNumber, bytes: Bool)
}

extension KernelCache {
    /// Invalidates what the kernel has cached of a change.
    package func invalidate(_ change: TreeChange) {
        switch change {
        case .appeared(let entry, _, _):
            entryChanged(entry.name, in: entry.parent)
        case .removed(let entry, let inode, _):
            entryRemoved(entry.name, in: entry.parent, inode: inode)
        case .moved(let old, let new, _, _):
            entryChanged(old.name, in: old.parent)
            entryChanged(new.name, in: new.parent)
        case .replaced(let entry, let old, let new):
            entryChanged(entry.name, in: entry.parent)
            if old != new { inodeChanged(old, bytes: false) }
        case .arrived(let inode), .attributesChanged(let inode):
            inodeChanged(inode, bytes: false)
        case .inodeChanged(let inode, let bytes):
            inodeChanged(inode, bytes: bytes)
        }
    }
}

/// The `stat(2)` attributes of a local file.
package struct Attributes: Hashable, Sendable {
    package var inode: InodeNumber
    package var kind: ItemKind
    /// Permission bits, 0 to 0o7777.
    package var mode: UInt16
    package var owner: UInt32
    package var group: UInt32
    package var linkCount: UInt32
    /// Length in bytes: for a file its real length, local or not; for a symbolic link the length of its target.
    package var size: Int64
    /// 512-byte blocks on this disk; never 0 for a file with bytes.
    package var blocks: Int64
    package var accessed: Timestamp
    /// The modification time of the item's newest bytes.
    package var modified: Timestamp
    /// The modification time of the local bytes while newer ones are to come; `nil` when it is ``modified``.
    package var localModified: Timestamp?
    package var changed: Timestamp
    /// The `dev_t` of a device file; 0 otherwise.
    package var device: UInt64
    /// Whether they may change without notice, so that they must not be cached: for a file that is mapped for writing.
    package var isVolatile = false

    package init(
        inode: InodeNumber, kind: ItemKind, mode: UInt16, owner: UInt32, group: UInt32, linkCount: UInt32, size: Int64,
        blocks: Int64, accessed: Timestamp, modified: Timestamp, changed: Timestamp, device: UInt64 = 0
    ) {
        self.inode = inode
        self.kind = kind
        self.mode = mode
        self.owner = owner
        self.group = group
        self.linkCount = linkCount
        self.size = size
        self.blocks = blocks
        self.accessed = accessed
        self.modified = modified
        self.changed = changed
        self.device = device
    }
}

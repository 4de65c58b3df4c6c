/// The changes of `chmod(2)`, `chown(2)` and `utimensat(2)`; `nil` leaves a value unchanged.
package struct AttributeChange: Hashable, Sendable {
    package var mode: UInt16?
    package var owner: UInt32?
    package var group: UInt32?
    package var accessed: Timestamp?
    package var modified: Timestamp?
    /// Whether the times are those of the change itself (`UTIME_NOW`): then they equal its ctime.
    package var isAccessedNow = false
    package var isModifiedNow = false

    package init(
        mode: UInt16? = nil, owner: UInt32? = nil, group: UInt32? = nil, accessed: Timestamp? = nil,
        modified: Timestamp? = nil
    ) {
        self.mode = mode
        self.owner = owner
        self.group = group
        self.accessed = accessed
        self.modified = modified
    }

    /// The mode of a file after a change of owner or group, or after a write by a user other than root: the set-user-ID
    /// bit is cleared, and so is the set-group-ID bit if the group may execute the file. Related: chown(2), inode(7).
    package static func withoutSetID(_ mode: UInt16) -> UInt16 {
        mode & ~(0o4000 | (mode & 0o010 != 0 ? 0o2000 : 0))
    }
}

/// What `chmod(2)`, `chown(2)` and `utimensat(2)` change; `nil` leaves a value as it is.
package struct AttributeChange: Hashable, Sendable {
    package var mode: UInt16?
    package var owner: UInt32?
    package var group: UInt32?
    package var accessed: Timestamp?
    package var modified: Timestamp?

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
}

/// What is to be created under a name.
package struct NewItem: Hashable, Sendable {
    package var kind: ItemKind
    /// The permissions: 0 to 0o7777.
    package var mode: UInt16
    package var owner: UInt32
    package var group: UInt32
    /// The number of a device file.
    package var device: UInt64
    /// The target of a symbolic link.
    package var target: LinkTarget?

    package init(
        _ kind: ItemKind, mode: UInt16, owner: UInt32 = 0, group: UInt32 = 0, device: UInt64 = 0,
        target: LinkTarget? = nil
    ) {
        self.kind = kind
        self.mode = mode
        self.owner = owner
        self.group = group
        self.device = device
        self.target = target
    }

    package static func symbolicLink(to target: String) -> NewItem {
        NewItem(.symbolicLink, mode: 0o777, target: LinkTarget(target))
    }

    /// The same, for a program of a user.
    package func owned(by caller: Caller) -> NewItem {
        var new = self
        new.owner = caller.user
        new.group = caller.group
        return new
    }
}

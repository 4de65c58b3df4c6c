package import Model

/// A local file: its bytes and its `stat(2)` attributes. Its names are ``Entry`` values.
package struct Inode: Hashable, Sendable {
    package var attributes: Attributes
    /// Whether the bytes are local; always true for an inode without bytes, such as a directory.
    package var isLocal: Bool
    /// The bytes as the container has them, or had them before a local change; `nil` before the first upload, and for a
    /// placeholder whose chunk list must first be fetched (the entry's base names the manifest).
    package var content: Content?
    /// Newer bytes of another device, while older ones are local.
    package var incoming: Content?
    /// Whether the bytes were changed here and are not in the container yet.
    package var isModified: Bool
    /// Counts the local changes of the bytes: data read at one generation is consistent if it is still the same
    /// afterwards.
    package var generation: Int64
    /// The target of a symbolic link.
    package var target: LinkTarget?
    /// The inode number on the disk, once there is an object in the backing directory.
    package var backing: UInt64?

    package init(
        attributes: Attributes, isLocal: Bool, content: Content?, incoming: Content?, isModified: Bool,
        generation: Int64,
        target: LinkTarget?, backing: UInt64?
    ) {
        self.attributes = attributes
        self.isLocal = isLocal
        self.content = content
        self.incoming = incoming
        self.isModified = isModified
        self.generation = generation
        self.target = target
        self.backing = backing
    }
}

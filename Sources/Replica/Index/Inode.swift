package import Model

/// A local file: the bytes, and what `stat(2)` says. Its names are ``Entry`` values.
package struct Inode: Hashable, Sendable {
    package var attributes: Attributes
    /// Whether the bytes are here; always true for what has none, such as a directory.
    package var isLocal: Bool
    /// The bytes as the container holds them, or held them before a local change; `nil` before the first upload, and for
    /// a placeholder whose chunk list must first be fetched (the entry's base names the manifest).
    package var content: Content?
    /// Newer bytes that another device made while the older ones are here.
    package var incoming: Content?
    /// Whether the bytes were changed here and are not in the container yet.
    package var isModified: Bool
    /// Counts the changes of the bytes made here: what was read at one generation is whole if it is still the same.
    package var generation: Int64
    /// Where a symbolic link points.
    package var target: String?
    /// The inode number on the disk, once something stands in the backing directory.
    package var backing: UInt64?

    package init(
        attributes: Attributes, isLocal: Bool, content: Content?, incoming: Content?, isModified: Bool,
        generation: Int64,
        target: String?, backing: UInt64?
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

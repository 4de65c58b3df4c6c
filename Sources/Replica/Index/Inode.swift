import Foundation
package import Model

/// A local file: its bytes and its `stat(2)` attributes. Its names are ``Entry`` values.
package struct Inode: Hashable, Sendable {
    package var attributes: Attributes
    /// Whether the bytes are local; always true for an inode without bytes, such as a directory.
    package var isLocal: Bool
    /// The bytes as the container has them, or had them before a local change; `nil` before the first upload, and for a
    /// placeholder whose chunk list must first be fetched (the entry's base names the manifest).
    package var content: Content? { get throws(FileError) { try packed.content.map(Content.init(packed:)) } }
    /// Newer bytes of another device, while older ones are local.
    package var incoming: Content? { get throws(FileError) { try packed.incoming.map(Content.init(packed:)) } }
    /// The incoming bytes, or else those before.
    package var newest: Content? {
        get throws(FileError) { try (packed.incoming ?? packed.content).map(Content.init(packed:)) }
    }
    /// Whether there is a ``content``: a list of millions of chunks is decoded only for what needs the list.
    package var hasContent: Bool { packed.content != nil }
    package var hasIncoming: Bool { packed.incoming != nil }
    private let packed: PackedContents
    /// Whether the bytes were changed here and are not in the container yet.
    package var isModified: Bool
    /// Counts the local changes of the bytes: data read at one generation is consistent if it is still the same
    /// afterwards.
    package var generation: Int64
    /// The target of a symbolic link.
    package var target: LinkTarget?
    /// The inode number on the disk, once there is an object in the backing directory.
    package var backing: UInt64?

    init(_ row: InodeRow, content: Data?, incoming: Data?) {
        attributes = row.attributes
        isLocal = row.isLocal
        packed = PackedContents(content: content, incoming: incoming)
        isModified = row.isModified
        generation = row.generation
        target = row.target
        backing = row.identity?.inode
    }

    /// As the index has them.
    private struct PackedContents: Hashable {
        let content: Data?
        let incoming: Data?
    }
}

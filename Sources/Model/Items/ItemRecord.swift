package import Foundation

/// The whole new state of one item, as in a commit. Nothing outside the record is needed to show the item.
package struct ItemRecord: Hashable, Sendable, Codable {
    package var id: ItemID
    /// Its parent directory; ``ItemID/root`` for the top level.
    package var parent: ItemID
    package var name: ItemName
    /// `file`, `directory` or `symbolicLink`: no other kind is synced.
    package var kind: ItemKind
    /// Permission bits, 0 to 0o7777.
    package var mode: UInt16
    package var modified: Timestamp
    /// Length of a file in bytes; 0 for the other kinds.
    package var size: Int64
    /// The target of a symbolic link: data, never followed here. `nil` for the other kinds.
    package var target: LinkTarget?
    /// The `user.*` attributes by full name.
    package var xattrs: [AttributeName: Data]
    /// The bytes of a file; `nil` for the other kinds.
    package var content: Reference?
    /// Edits that lost against this state and wait to be resolved; for a file only.
    package var conflicts: [ConflictVersion]
    /// A preview of the bytes of a file; `nil` for one without.
    package var preview: ItemPreview?
    /// The device that made the bytes of a file, when it is not ``device``; see ``maker``.
    package var bytesDevice: DeviceID?
    /// The device that made this state.
    package var device: DeviceID
    /// The sequence of the commit that this state was based on; 0 for a new item.
    package var base: CommitNumber

    /// A file's chunk list: in the record when it is short, in an object of its own otherwise.
    package enum Reference: Hashable, Sendable {
        case inline(Content)
        /// The object `manifests/SHA256`.
        case manifest(ChunkHash)
    }

    package init(
        id: ItemID, parent: ItemID, name: ItemName, kind: ItemKind, mode: UInt16, modified: Timestamp, size: Int64 = 0,
        target: LinkTarget? = nil, xattrs: [AttributeName: Data] = [:], content: Reference? = nil,
        conflicts: [ConflictVersion] = [], preview: ItemPreview? = nil, maker: DeviceID? = nil, device: DeviceID,
        base: CommitNumber
    ) {
        self.id = id
        self.parent = parent
        self.name = name
        self.kind = kind
        self.mode = mode
        self.modified = modified
        self.size = size
        self.target = target
        self.xattrs = xattrs
        self.content = content
        self.conflicts = conflicts
        self.preview = kind == .file ? preview : nil
        bytesDevice = maker == device || kind != .file ? nil : maker
        self.device = device
        self.base = base
    }
}

extension ItemRecord {
    private enum CodingKeys: String, CodingKey {
        case id, parent, name, kind, mode, modified, size, target, xattrs, content, conflicts, preview, bytesDevice
        case device, base
    }

    /// The device that made the bytes.
    package var maker: DeviceID { bytesDevice ?? device }

    /// Foundation's coders keep one of several attributes whose names differ in composition only: the container's text is
    /// written and read with all of them, by `CommitText`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try container.decode(ItemID.self, forKey: .id),
            parent: try container.decode(ItemID.self, forKey: .parent),
            name: try container.decode(ItemName.self, forKey: .name),
            kind: try container.decode(ItemKind.self, forKey: .kind),
            mode: try container.decode(UInt16.self, forKey: .mode),
            modified: try container.decode(Timestamp.self, forKey: .modified),
            size: try container.decode(Int64.self, forKey: .size),
            target: try container.decodeIfPresent(LinkTarget.self, forKey: .target),
            // To `String`, names that differ in composition only are one: `CommitParts` reads them again by their bytes.
            xattrs: Dictionary(
                try container.decode([String: Data].self, forKey: .xattrs).map { (AttributeName($0), $1) }
            ) { first, _ in first },
            content: try container.decodeIfPresent(Reference.self, forKey: .content),
            conflicts: try container.decodeIfPresent([ConflictVersion].self, forKey: .conflicts) ?? [],
            // Optional: another value is as none.
            preview: try? container.decodeIfPresent(ItemPreview.self, forKey: .preview),
            maker: try container.decodeIfPresent(DeviceID.self, forKey: .bytesDevice),
            device: try container.decode(DeviceID.self, forKey: .device),
            base: try container.decode(CommitNumber.self, forKey: .base))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(parent, forKey: .parent)
        try container.encode(name, forKey: .name)
        try container.encode(kind, forKey: .kind)
        try container.encode(mode, forKey: .mode)
        try container.encode(modified, forKey: .modified)
        try container.encode(size, forKey: .size)
        try container.encodeIfPresent(target, forKey: .target)
        try container.encode(Dictionary(xattrs.map { ($0.string, $1) }) { first, _ in first }, forKey: .xattrs)
        try container.encodeIfPresent(content, forKey: .content)
        // Few items have any, so an empty list is not encoded.
        if !conflicts.isEmpty { try container.encode(conflicts, forKey: .conflicts) }
        try container.encodeIfPresent(preview, forKey: .preview)
        try container.encodeIfPresent(bytesDevice, forKey: .bytesDevice)
        try container.encode(device, forKey: .device)
        try container.encode(base, forKey: .base)
    }
}

/// The number of a commit in the container's log: 1 for the first, 0 for the empty container.
package typealias CommitNumber = UInt64

extension ItemRecord.Reference: Codable {
    private enum CodingKeys: String, CodingKey { case runs, manifest }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let hash = try container.decodeIfPresent(ChunkHash.self, forKey: .manifest) {
            self = .manifest(hash)
        } else {
            self = .inline(Content(runs: try container.decode([Content.Run].self, forKey: .runs)))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .inline(let content): try container.encode(content.runs, forKey: .runs)
        case .manifest(let hash): try container.encode(hash, forKey: .manifest)
        }
    }
}

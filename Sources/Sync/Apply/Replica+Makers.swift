package import Model
import Remote
package import Replica

/// Finds the device that made the bytes of an entry.
extension Replica {
    /// The device that made the current bytes of an entry, or its incoming bytes once they are local.
    ///
    /// Bytes that were chosen among versions belong to the device that made that version. Bytes that match no version
    /// of the item were put under its name here.
    package func maker(of entry: Entry, _ inode: Inode) throws(FileError) -> DeviceID {
        if inode.isModified { return device }
        guard let content = try inode.newest else { return entry.base?.maker ?? device }
        var bytes = KnownBytes(content)
        if let base = entry.base, bytes.are(in: base) { return base.maker }
        for version in entry.conflicts + (entry.base?.conflicts ?? []) where bytes.are(in: version) {
            return version.device
        }
        guard let item = entry.item else { return device }
        let earlier = try read { try $0.history(of: item).map(\.record) }
        for record in earlier where bytes.are(in: record) { return record.maker }
        for version in earlier.flatMap(\.conflicts) where bytes.are(in: version) { return version.device }
        return device
    }
}

/// Bytes that are looked for among versions. The name of their manifest takes a second for a list of a million chunks,
/// and is found once.
private struct KnownBytes {
    private let content: Content
    private let size: Int64
    private var reference: ItemRecord.Reference?

    init(_ content: Content) {
        self.content = content
        size = content.byteCount
    }

    mutating func are(in record: ItemRecord) -> Bool { are(behind: record.content, size: record.size) }

    mutating func are(in version: ConflictVersion) -> Bool { are(behind: version.content, size: version.size) }

    private mutating func are(behind other: ItemRecord.Reference?, size otherSize: Int64) -> Bool {
        guard let other, otherSize == size else { return false }
        guard case .manifest = other else { return other.has(content) }
        let own = reference ?? ManifestStore.reference(to: content)
        reference = own
        return own == other
    }
}

extension ItemRecord.Reference {
    /// Whether it refers to these bytes, as far as is known locally: of a manifest only the name is known.
    package func has(_ content: Content) -> Bool {
        switch self {
        case .inline(let known): known.hasSameBytes(as: content)
        case .manifest: ManifestStore.reference(to: content) == self
        }
    }
}

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
        guard let content = inode.incoming ?? inode.content else { return entry.base?.maker ?? device }
        if let base = entry.base, base.content?.has(content) ?? false { return base.maker }
        let conflicts = entry.conflicts + (entry.base?.conflicts ?? [])
        if let version = conflicts.first(where: { $0.content.has(content) }) { return version.device }
        guard let item = entry.item else { return device }
        let earlier = try history(of: item).map(\.record)
        for record in earlier where record.content?.has(content) ?? false { return record.maker }
        for version in earlier.flatMap(\.conflicts) where version.content.has(content) { return version.device }
        return device
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

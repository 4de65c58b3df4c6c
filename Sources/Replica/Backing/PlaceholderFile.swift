package import Foundation
import Glibc
import Linux
import Model

/// The small property list in the backing directory that represents a file whose bytes are not local.
///
/// Three keys are iCloud's, so that programs that read its placeholders can read ours; the others are ours. Binary,
/// `bplist00`.
package struct PlaceholderFile: Hashable, Sendable {
    var name: ItemName
    var size: Int64
    var item: ItemID?
    /// SHA-256 of the file's bytes, if the index knows it: when the content is one chunk.
    var contentHash: ChunkHash?
    var modified: Timestamp
    var mode: UInt16

    private enum Key {
        static let name = "NSURLNameKey"
        static let size = "NSURLFileSizeKey"
        static let kind = "NSURLFileResourceTypeKey"
        static let item = "DewpointItemID"
        static let contentHash = "DewpointContentHash"
        static let modified = "DewpointModified"
        static let mode = "DewpointMode"
    }

    /// No placeholder of ours is longer; a longer file is a user's.
    package static let byteLimit: Int64 = 4096

    var data: Data {
        get throws(FileError) {
            var list: [String: Any] = [
                Key.name: name.string, Key.size: size, Key.kind: "NSURLFileResourceTypeRegular",
                Key.modified: modified.rawValue, Key.mode: Int(mode),
            ]
            if let item { list[Key.item] = item.description }
            if let contentHash { list[Key.contentHash] = contentHash.description }
            do {
                return try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
            } catch {
                throw FileError(.inputOutput, "write the property list of \(name): \(error)", cause: error)
            }
        }
    }
}

extension PlaceholderFile {
    /// - Returns: `nil` for data that is not a placeholder of ours, in binary or XML.
    package init?(data: Data) {
        // The file may hold anything: unreadable data is not a placeholder.
        guard let list = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any],
            let text = list[Key.name] as? String, let name = try? ItemName(text),
            let size = (list[Key.size] as? NSNumber)?.int64Value,
            let modified = (list[Key.modified] as? NSNumber)?.int64Value,
            let mode = (list[Key.mode] as? NSNumber)?.uint16Value
        else { return nil }
        self.init(
            name: name, size: size, item: (list[Key.item] as? String).flatMap { ItemID($0) },
            contentHash: (list[Key.contentHash] as? String).flatMap { ChunkHash($0) },
            modified: Timestamp(rawValue: modified), mode: mode)
    }

    /// - Returns: `nil` when there is no file, or it is not a placeholder of ours.
    static func read(_ place: BackingPlace) throws(FileError) -> PlaceholderFile? {
        guard let status = try SystemCalls.statusIfPresent(place), status.isFile, status.size <= byteLimit else {
            return nil
        }
        let descriptor = try SystemCalls.open(place, O_RDONLY)
        return PlaceholderFile(
            data: Data(try descriptor.read(byteCount: Int(byteLimit), at: 0, as: "read \(place.name)")))
    }

    /// Whether a file is the remains of a placeholder after a power failure: it is renamed into place without being
    /// synced.
    static func isBroken(_ place: BackingPlace, _ status: BackingStatus) throws(FileError) -> Bool {
        guard status.isFile, status.size <= byteLimit else { return false }
        let descriptor = try SystemCalls.open(place, O_RDONLY)
        let present = try descriptor.read(byteCount: Int(byteLimit), at: 0, as: "read \(place.name)")
        return present.allSatisfy { $0 == 0 } || present.starts(with: "bplist00".utf8)
    }

    /// Writes the placeholder to `place` by one rename, replacing an older one.
    func write(to place: BackingPlace, through backing: BackingDirectory) throws(FileError) {
        let bytes = try data
        let temporary = BackingPlace(directory: backing.downloads, name: "placeholder-\(backing.makeNumber())")
        let descriptor = try SystemCalls.open(temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        do throws(FileError) {
            try descriptor.write([UInt8](bytes), at: 0, as: "write \(place.name)")
            try SystemCalls.replace(place, with: temporary)
        } catch {
            // The first error is more informative than one from cleaning up; repair empties the directory.
            try? SystemCalls.unlink(temporary)
            throw error
        }
    }
}

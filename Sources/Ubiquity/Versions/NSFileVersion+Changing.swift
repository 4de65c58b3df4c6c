import ControlAPI
import ControlClient
import Glibc
import Linux
import Model

extension NSFileVersion {
    /// How a version replaces an item.
    public struct ReplacingOptions: OptionSet, Sendable, Hashable {
        /// The same value as Apple's.
        public let rawValue: UInt
        /// The value with this raw value.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// The version is removed afterwards.
        public static let byMoving = ReplacingOptions(rawValue: 1)
    }

    /// Gives an item the bytes of this version.
    ///
    /// Call it within a coordinated write of the item. A missing item is created. Replacing an item by a version of
    /// itself keeps its former bytes as an earlier version, and neither resolves a conflict nor removes a version.
    ///
    /// - Parameter url: The item; usually the one whose version this is. If it has another extension, the version's one
    ///   is used.
    /// - Returns: The URL of the item with these bytes.
    /// - Throws: `NSCocoaErrorDomain` 4 when the version is gone, 513 while the item is claimed by another program, 640
    ///   without space, 4355 when the bytes cannot be fetched or the daemon has ended.
    @discardableResult
    public func replaceItem(at url: URL, options: ReplacingOptions = []) throws -> URL {
        let destination = Self.item(ofStored: url) ?? url
        if destination.standardizedFileURL != itemURL.standardizedFileURL {
            return try replaceOther(destination, options)
        }
        if !isCurrent, try !restore() { try copy(to: destination) }
        if options.contains(.byMoving), !isCurrent { try remove() }
        return destination
    }

    private func replaceOther(_ url: URL, _ options: ReplacingOptions) throws -> URL {
        var destination = url
        if url.pathExtension != itemURL.pathExtension {
            destination = url.deletingPathExtension().appendingPathExtension(itemURL.pathExtension)
        }
        try copy(to: destination)
        if options.contains(.byMoving), !isCurrent { try remove() }
        return destination
    }

    /// Makes it the current version of its item, without moving bytes.
    ///
    /// - Returns: `false` when the item is open for writing or not uploaded: then it has to be written.
    private func restore() throws -> Bool {
        let item = ItemVersions(itemURL)
        do throws(ControlError) {
            try item.client().send(RestoreVersionRequest(path: item.path, id: id))
            return true
        } catch .refused(let refusal) where refusal.code == .busy {
            return false
        } catch .refused(let refusal) where refusal.code == .superseded {
            throw CocoaFailure.error(.fileNoSuchFile, itemURL, reason: refusal.detail)
        } catch {
            throw CocoaFailure.error(error, .writing, itemURL)
        }
    }

    private func copy(to destination: URL) throws {
        let source = isCurrent ? itemURL : try VersionStore.shared.url(of: self)
        let directory = ItemPath.directory(of: destination.path)
        let temporary = "\(directory)/\(ItemPath.localName("version"))"
        do throws(FileError) {
            try ItemCopy.copy(source.path, to: temporary)
            if !isCurrent, try FileStatus(of: temporary).kind == S_IFREG { chmod(temporary, 0o644) }
            try ItemReplacement(
                original: destination.path, replacement: temporary, backup: nil, usesNewMetadataOnly: false
            ).replace()
        } catch {
            try? ItemMove.remove(temporary)  // the version is still where it was
            throw CocoaFailure.error(error, .writing, destination)
        }
    }

    /// Removes this version from the container, and so from all devices.
    ///
    /// - Throws: `NSCocoaErrorDomain` 3328 for the current version, which Apple's raises an exception for; 4 when it is
    ///   gone; 4355 when the daemon has ended.
    public func remove() throws {
        guard !isCurrent else {
            throw CocoaFailure.error(.featureUnsupported, itemURL, reason: "The current version cannot be removed.")
        }
        let item = ItemVersions(itemURL)
        do throws(ControlError) {
            try item.client().send(DiscardVersionRequest(path: item.path, id: id))
        } catch .refused(let refusal) where refusal.code == .superseded {
            throw CocoaFailure.error(.fileNoSuchFile, itemURL, reason: refusal.detail)
        } catch {
            throw CocoaFailure.error(error, .writing, itemURL)
        }
        VersionStore.shared.removeBytes(of: self)
    }

    /// Removes the versions that lost a conflict, resolved or not, and this process's copies of earlier ones.
    ///
    /// Differences from Apple's: earlier versions stay in the container until they are 30 days old.
    /// - Throws: `NSCocoaErrorDomain` 260 when there is no such file, 4355 when the daemon has ended.
    public class func removeOtherVersionsOfItem(at url: URL) throws {
        let item = ItemVersions(url)
        try item.requireItem()
        for version in try item.list() where version.kind != .current {
            let version = NSFileVersion(item: item.url, version)
            if version.isConflict {
                do {
                    try version.remove()
                } catch let error as CocoaError where error.code == .fileNoSuchFile {
                    continue  // another program or device was first
                }
            } else {
                VersionStore.shared.removeBytes(of: version)
            }
        }
    }
}

import Glibc
import Linux
import Model

extension FileManager {
    /// Replaces an item by a new one so that no bytes are lost, whatever happens.
    ///
    /// The new item takes the place, the mode and the attributes of the original. In a container the item stays the
    /// same one: identity, pin, versions and, for other devices, history stay with a file's name; a package becomes a
    /// new item. The new item may be on another file system. Takes no claim: call it within a coordinated write.
    ///
    /// Differences from Apple's: a missing original is no error, and the new item is moved there. Foundation's own
    /// implementation on Linux loses the new bytes.
    ///
    /// - Parameters:
    ///   - originalItemURL: The item to replace.
    ///   - newItemURL: The new one, best in a directory of `.itemReplacementDirectory`. Gone afterwards.
    ///   - backupItemName: The name, in the original's directory, under which the former item is kept with
    ///     `.withoutDeletingBackupItem`; what has that name is replaced. Without that option no backup is made.
    ///   - options: See `FileManager.ItemReplacementOptions`.
    /// - Returns: The URL of the item.
    /// - Throws: `NSCocoaErrorDomain` 4 for a missing new item, 513 without permission or while the item is claimed by
    ///   another program, 640 without space. The original is unchanged then, and the new item is where it was.
    @discardableResult
    public func replaceItemAt(
        _ originalItemURL: URL, withItemAt newItemURL: URL, backupItemName: String? = nil,
        options: FileManager.ItemReplacementOptions = []
    ) throws -> URL? {
        let keepsBackup = options.contains(.withoutDeletingBackupItem)
        let directory = ItemPath.directory(of: originalItemURL.path)
        let replacement = ItemReplacement(
            original: originalItemURL.path, replacement: newItemURL.path,
            backup: backupItemName.flatMap { keepsBackup ? "\(directory)/\($0)" : nil },
            usesNewMetadataOnly: options.contains(.usingNewMetadataOnly))
        do throws(FileError) {
            try replacement.replace()
        } catch {
            let isNewMissing = error.code == .notFound && !fileExists(atPath: newItemURL.path)
            throw CocoaFailure.error(error, .writing, isNewMissing ? newItemURL : originalItemURL)
        }
        return originalItemURL
    }

    /// Replaces an item; see ``replaceItemAt(_:withItemAt:backupItemName:options:)``.
    @discardableResult
    public func replaceItem(
        at originalItemURL: URL, withItemAt newItemURL: URL, backupItemName: String?,
        options: FileManager.ItemReplacementOptions = []
    ) throws -> URL? {
        try replaceItemAt(
            originalItemURL, withItemAt: newItemURL, backupItemName: backupItemName, options: options)
    }

    /// Replaces an item; see ``replaceItemAt(_:withItemAt:backupItemName:options:)``.
    ///
    /// - Parameter resultingURL: Receives the URL of the item.
    public func replaceItem(
        at originalItemURL: URL, withItemAt newItemURL: URL, backupItemName: String?,
        options: FileManager.ItemReplacementOptions = [], resultingItemURL resultingURL: UnsafeMutablePointer<NSURL?>?
    ) throws {
        let url = try replaceItemAt(
            originalItemURL, withItemAt: newItemURL, backupItemName: backupItemName, options: options)
        resultingURL?.pointee = url.map { $0 as NSURL }
    }

    /// Finds a standard directory, as Foundation does, but `.itemReplacementDirectory` on the file system of the item.
    ///
    /// For a replacement directory: a new, empty directory of mode 0700 that the caller removes. It is the usual one in
    /// the temporary directory if that is on the item's file system. In a container it is in the container's root, and
    /// elsewhere beside the item, under a hidden name that contains `.nosync`, so that it is never synced. Those that
    /// programs have left when they ended are removed with the next call for an item beside them.
    ///
    /// - Throws: `NSCocoaErrorDomain` 4, 513 and 640 from creating it; and the errors of Foundation.
    public func url(
        for directory: FileManager.SearchPathDirectory, in domain: FileManager.SearchPathDomainMask,
        appropriateFor reference: URL?, create shouldCreate: Bool
    ) throws -> URL {
        guard directory == .itemReplacementDirectory, let reference, reference.isFileURL else {
            return try self.Foundation::url(
                for: directory, in: domain, appropriateFor: reference, create: shouldCreate)
        }
        do throws(FileError) {
            if let path = try ReplacementDirectory.create(for: reference) {
                return URL(fileURLWithPath: path, isDirectory: true)
            }
        } catch {
            throw CocoaFailure.error(error, .writing, reference)
        }
        return try self.Foundation::url(for: directory, in: domain, appropriateFor: reference, create: shouldCreate)
    }
}

/// A directory for a new version of an item, on the same file system, so that it can be renamed over the item.
enum ReplacementDirectory {
    /// - Returns: `nil` when the temporary directory is on the item's file system.
    static func create(for item: URL) throws(FileError) -> String? {
        let container = MountedContainer.containing(item)?.container.mountpoint
        let beside = try beside(item.path)
        if container == nil, try FileStatus(of: NSTemporaryDirectory() + ".").isOnFileSystem(of: beside) { return nil }
        // The root of a container may be closed to this user.
        for place in [container, beside].compactMap({ $0 }) {
            do throws(FileError) {
                return try create(in: place)
            } catch {
                guard error.code == .denied, place != beside else { throw error }
            }
        }
        throw FileError(.denied, beside)
    }

    private static func create(in place: String) throws(FileError) -> String {
        let path = ItemPath(place).appending(ItemPath.localName("replacement")).string
        try SystemCalls.check("mkdir", path) { mkdir(path, 0o700) }
        ScratchPlaces.adopt(path)
        return path
    }

    /// The nearest directory above the item that exists, or the item itself if it is a mountpoint.
    private static func beside(_ path: String) throws(FileError) -> String {
        var directory = ItemPath.directory(of: path)
        while try FileStatus.ifPresent(directory) == nil, directory != "/" {
            directory = ItemPath.directory(of: directory)
        }
        guard let item = try FileStatus.ifPresent(path), item.kind == S_IFDIR else { return directory }
        return try item.isOnFileSystem(of: directory) ? directory : path
    }
}

extension FileStatus {
    func isOnFileSystem(of path: String) throws(FileError) -> Bool {
        value.st_dev == (try FileStatus(of: path)).value.st_dev
    }
}

import Glibc
import Linux
import Model

/// Replaces an item by a new one, as a safe save does. The new bytes are at one of the two names at any time.
///
/// A file is renamed over a file, so that in a container identity, pin and history stay with the name. All else, such as
/// a package, is exchanged with the new item where the file system can, else moved aside first.
struct ItemReplacement {
    let original: String
    let replacement: String
    /// The path where the former item is kept; `nil` to delete it.
    let backup: String?
    /// Whether the new item keeps its own mode and attributes, instead of getting those of the former one.
    let usesNewMetadataOnly: Bool

    /// - Throws: ``FileError``. The original is then untouched, and the new item is where it was.
    func replace() throws(FileError) {
        let new = try FileStatus(of: replacement)
        guard let old = try FileStatus.ifPresent(original) else { return try ItemMove.move(replacement, to: original) }
        let source = try onSameFileSystem(new, as: old)
        do throws(FileError) {
            if !usesNewMetadataOnly { try keepMetadata(of: old, for: source, new) }
            if new.kind == S_IFREG && old.kind == S_IFREG {
                try replaceFile(by: source)
            } else {
                try exchange(with: source)
            }
        } catch {
            // The replacement itself is still there.
            if source != replacement { try? ItemMove.remove(source) }
            throw error
        }
        // The item is replaced, whether or not its source can be removed, which is only temporary.
        if source != replacement { try? ItemMove.remove(replacement) }
    }

    /// The new item itself, or a copy of it beside the original, on the disk.
    private func onSameFileSystem(_ new: FileStatus, as old: FileStatus) throws(FileError) -> String {
        guard new.value.st_dev != old.value.st_dev else { return replacement }
        let copy = "\(ItemPath.directory(of: original))/\(ItemPath.localName("saving"))"
        do throws(FileError) {
            try ItemCopy.copy(replacement, to: copy)
        } catch {
            try? ItemMove.remove(copy)  // incomplete, and the replacement is still there
            throw error
        }
        return copy
    }

    private func keepMetadata(of old: FileStatus, for source: String, _ new: FileStatus) throws(FileError) {
        guard new.kind == old.kind, new.kind != S_IFLNK else { return }
        try ItemCopy.copyAttributes(original, to: source)
        lchown(source, old.value.st_uid, old.value.st_gid)  // as permitted: another user's save changes the owner
        try SystemCalls.setMode(of: source, UInt16(old.permissions))
    }

    private func replaceFile(by source: String) throws(FileError) {
        if let backup {
            try removeIfPresent(backup)
            // Until the rename, both names lead to the former bytes.
            do throws(FileError) { try SystemCalls.check("link", backup) { link(original, backup) } } catch {
                // A file system without hard links.
                guard [.notPermitted, .unsupported, .tooManyLinks].contains(error.code) else { throw error }
                try ItemCopy.copy(original, to: backup)
            }
        }
        try rename(source)
    }

    private func rename(_ source: String) throws(FileError) {
        try SystemCalls.check("rename", source) { Glibc.rename(source, original) }
    }

    private func exchange(with source: String) throws(FileError) {
        do throws(FileError) {
            try ItemMove.exchange(source, original)
        } catch {
            guard error.code == .invalid else { throw error }
            return try exchangeByThird(source)
        }
        // The former item is now at the new one's path.
        guard let backup else { return try ItemMove.remove(source) }
        do throws(FileError) {
            try removeIfPresent(backup)
            try ItemMove.move(source, to: backup)
        } catch {
            try ItemMove.exchange(source, original)
            throw error
        }
    }

    /// For file systems without the exchange: the name is missing for a moment.
    private func exchangeByThird(_ source: String) throws(FileError) {
        let aside = backup ?? "\(ItemPath.directory(of: original))/\(ItemPath.localName("replaced"))"
        if backup != nil { try removeIfPresent(aside) }
        try ItemMove.move(original, to: aside)
        do throws(FileError) {
            try ItemMove.move(source, to: original)
        } catch {
            try? ItemMove.move(aside, to: original)  // the error of the move is the one to report
            throw error
        }
        if backup == nil { try ItemMove.remove(aside) }
    }

    private func removeIfPresent(_ path: String) throws(FileError) {
        if try FileStatus.ifPresent(path) != nil { try ItemMove.remove(path) }
    }
}

import CLinux
import Glibc
import Linux
import Model

/// Moves a file or directory to a name that is not taken, to another file system too.
///
/// At any point of time at least one of the two names has the whole item: another file system gets a copy under a
/// temporary name, which is on the disk before it is renamed, and only then the source is deleted.
enum ItemMove {
    /// - Throws: ``FileError``; `EEXIST` when the destination exists.
    static func move(_ source: String, to destination: String) throws(FileError) {
        do throws(FileError) {
            return try rename(source, toFree: destination)
        } catch {
            guard error.code == .crossDevice else { throw error }
            try moveAcross(source, to: destination)
        }
    }

    private static func moveAcross(_ source: String, to destination: String) throws(FileError) {
        if try FileStatus.ifPresent(destination) != nil { throw FileError(.exists, destination) }
        let directory = ItemPath.directory(of: destination)
        let temporary = "\(directory)/\(ItemPath.localName("moving"))"
        do throws(FileError) {
            try ItemCopy.copy(source, to: temporary)
            try rename(temporary, toFree: destination)
        } catch {
            // The source is whole. What cannot be removed now stays on this machine, under a name that says so.
            try? FileManager.default.removeItem(atPath: temporary)
            throw error
        }
        try Descriptor(directory, O_RDONLY | O_DIRECTORY).synchronize()
        try remove(source)
    }

    /// Removes a file or a tree.
    static func remove(_ path: String) throws(FileError) {
        if try FileStatus(of: path).kind == S_IFDIR {
            for name in try SystemCalls.names(in: path) { try remove("\(path)/\(name)") }
            try SystemCalls.check("rmdir", path) { rmdir(path) }
        } else {
            try SystemCalls.check("unlink", path) { unlink(path) }
        }
    }

    private static func rename(_ source: String, toFree destination: String) throws(FileError) {
        do throws(FileError) {
            try SystemCalls.check("rename", source) {
                CLinux_renameat2(AT_FDCWD, source, AT_FDCWD, destination, CLinux_RENAME_NOREPLACE)
            }
        } catch {
            guard error.code == .invalid, try FileStatus.ifPresent(destination) == nil else { throw error }
            // A file system without this flag.
            try SystemCalls.check("rename", source) { Glibc.rename(source, destination) }
        }
    }

    /// Exchanges two items of one file system, whatever they are.
    static func exchange(_ one: String, _ other: String) throws(FileError) {
        try SystemCalls.check("rename", one) {
            CLinux_renameat2(AT_FDCWD, one, AT_FDCWD, other, CLinux_RENAME_EXCHANGE)
        }
    }
}

extension ItemPath {
    static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: separator) else { return "." }
        return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
    }

    /// A new hidden name that a container does not sync: it contains `.nosync`.
    static func localName(_ purpose: String) -> String {
        ".\(purpose).nosync-\(String(UInt64.random(in: .min ... .max), radix: 16))"
    }
}

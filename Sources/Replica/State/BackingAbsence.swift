import Foundation
import Glibc
import GRDB
import Linux
package import Model

/// Detects that one half of the state is missing: an index without its backing directory, or files without their index.
///
/// Otherwise bytes that were only moved away would count as lost, or known files as new ones.
enum BackingAbsence {
    /// Refuses to create a new index beside files: all of them would become new items, duplicated on every device.
    static func checkIndex(of state: ReplicaDirectory) throws(FileError) {
        guard access(state.index, F_OK) != 0, errno == ENOENT else { return }
        guard let found = try firstFile(below: state.files) else { return }
        throw FileError(
            .inputOutput,
            "\(state.index) is missing while \(state.files) holds files, such as \(found); put the index back, or move "
                + "\(state.files) away, mount again and copy the missing files into the mount")
    }

    /// Refuses a backing directory that was emptied while it had the only copy of a file.
    ///
    /// Without such a file nothing is lost: the container's bytes are downloaded again.
    static func checkContents(of state: ReplicaDirectory, _ rows: Rows) throws {
        guard try SystemCalls.names(in: BackingDirectory.openDirectory(state.files)).isEmpty else { return }
        // Files that were being removed at a crash do not count as missing.
        var present: Set<Int64> = []
        for path in [state.removed, state.aside] where access(path, F_OK) == 0 {
            let directory = try BackingDirectory.openDirectory(path)
            for name in try SystemCalls.names(in: directory) {
                let status = try SystemCalls.status(BackingPlace(directory: directory, name: name))
                present.insert(Int64(bitPattern: status.identity.inode))
            }
        }
        let changed = try rows.all(
            "SELECT backing FROM inodes WHERE local = 1 AND kind = 0 AND dirty = 1 AND links > 0", []
        ) { $0[0] as Int64? }.count { $0.map { !present.contains($0) } ?? true }
        guard changed > 0 else { return }
        throw FileError(
            .inputOutput,
            "\(state.files) is empty, and \(changed == 1 ? "1 modified file has" : "\(changed) modified files have") "
                + "no other copy; put its contents back, "
                + "or discard the changes and mount with another --state")
    }

    /// The first real file: neither a placeholder nor a directory.
    private static func firstFile(below path: String) throws(FileError) -> String? {
        guard let files = FileManager.default.enumerator(atPath: path) else { return nil }
        while let name = files.nextObject() as? String {
            guard files.fileAttributes?[.type] as? FileAttributeType == .typeRegular else { continue }
            let directory = "\(path)/\(name)".utf8.lastIndex(of: UInt8(ascii: "/")).map { "\(path)/\(name)"[..<$0] }
            let place = BackingPlace(
                directory: try BackingDirectory.openDirectory(String(directory ?? "/")),
                name: String(ItemPath(name).last ?? ""))
            if try PlaceholderFile.read(place) == nil { return name }
        }
        return nil
    }
}

extension Replica {
    /// Checks that the backing directory is still in its place and has not been emptied while mounted.
    ///
    /// - Throws: `inputOutput` with a sentence that names the directory to put back.
    package func checkBacking() throws(FileError) {
        var status = stat()
        guard lstat(state.files, &status) == 0 else {
            throw FileError(.inputOutput, "\(state.files), which holds this container's bytes, is missing; put it back")
        }
        let present = try SystemCalls.status(of: try BackingDirectory.openDirectory(state.files))
        guard present.identity.matches(try SystemCalls.status(of: backing.files).identity) else {
            throw FileError(
                .inputOutput,
                "\(state.files) is not the directory that holds this container's bytes; put the right one back")
        }
        guard try SystemCalls.names(in: BackingDirectory.openDirectory(state.files)).isEmpty else { return }
        // Between changes: during a change, disk and index may differ.
        let isEmptied = try change { transaction in
            try SystemCalls.names(in: BackingDirectory.openDirectory(state.files)).isEmpty
                && transaction.rows.exists(
                    "SELECT 1 FROM inodes WHERE local = 1 AND kind = 0 AND links > 0 LIMIT 1", [])
        }
        guard !isEmptied else {
            throw FileError(
                .inputOutput, "\(state.files) was emptied while mounted; put its contents back, or mount again")
        }
    }
}

import CLinux
import Glibc
package import Linux
package import Model

/// Moves everything in one directory into another one of the same file system, name by name. A name is bytes here: it need not
/// be one that an item can have.
package struct TreeMove: Sendable {
    private let source: Descriptor
    private let target: Descriptor

    package init(from source: Descriptor, to target: Descriptor) {
        self.source = source
        self.target = target
    }

    /// One that was interrupted, or failed, is continued by the next.
    ///
    /// - Throws: `crossDevice` when the two are not on one file system; `notPermitted` for what may not be moved; `exists` for a
    ///   name that the target has.
    package func run() throws(FileError) {
        var names: [[CChar]] = []
        try SystemCalls.forEachName(in: source) { name, _ in
            names.append(Array(UnsafeBufferPointer(start: name, count: strlen(name) + 1)))
        }
        for name in names { try move(name) }
        for directory in [source, target] { try directory.synchronize(as: "fsync of a directory that was moved") }
    }

    /// A directory that its owner may not write to cannot be moved to another one: the entry `..` in it would change.
    private func move(_ name: [CChar]) throws(FileError) {
        do throws(FileError) { try rename(name) } catch {
            guard error.code == .denied || error.code == .notPermitted else { throw error }
            // The same object before and after: another program may put something else at the name.
            let object = try HeldObject(name, in: source)
            let status = try object.descriptor.status()
            guard ItemKind(status) == .directory, status.mode & 0o200 == 0 else { throw error }
            let mode = UInt16(status.mode & 0o7777)
            try object.setMode(mode | 0o200)
            do throws(FileError) { try rename(name) } catch {
                try object.setMode(mode)
                throw error
            }
            try object.setMode(mode)
        }
    }

    private func rename(_ name: [CChar]) throws(FileError) {
        do throws(FileError) {
            try SystemCalls.check("rename", Self.text(name)) {
                CLinux_renameat2(source.rawValue, name, target.rawValue, name, CLinux_RENAME_NOREPLACE)
            }
        } catch {
            // The two directories are on one mount: that was checked.
            guard error.code == .crossDevice else { throw error }
            throw FileError(
                .crossDevice,
                "\(Self.text(name)) cannot be moved without a copy, as a directory of a lower layer of overlayfs, or one with another "
                    + "quota project (lsattr -p); copy the directory (cp -a), and take the copy")
        }
    }

    /// For people.
    private static func text(_ name: [CChar]) -> String {
        String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

import CLinux
import Foundation
import Glibc
package import Model

/// A file without a name, which is gone when it is closed: nothing of it is left, whatever ends the program.
package struct NamelessFile: Sendable {
    /// Open for reading and writing.
    package let file: Descriptor
    /// A directory of the same disk, in which another one can be made.
    package let directory: String

    /// Related: open(2) with `O_TMPFILE`.
    package init(in directory: String) throws(FileError) {
        self.directory = directory
        if let file = try? Descriptor(directory, O_RDWR | CLinux_O_TMPFILE, mode: 0o600) {
            self.file = file
            return
        }
        // Not every file system has such files.
        let name = "\(directory)/dewpoint-\(UUID().uuidString.lowercased())"
        file = try Descriptor(name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        try SystemCalls.check("unlink", as: name) { unlink(name) }
    }
}

extension NamelessFile: CustomStringConvertible {
    package var description: String { "a temporary file in \(directory)" }
}

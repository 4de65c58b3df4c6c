import Foundation
import Glibc
import Linux
import Model

/// A file that is written under a name of its own in the directory of another one, whose name it gets when it is complete.
struct PartFile {
    let path: String
    private let target: String
    private let cleanup: SignalCleanup

    /// - Parameter target: The final path.
    init(of target: String) {
        self.target = target
        let path = "\(URL(filePath: target).deletingLastPathComponent().path)/.\(UUID().uuidString).dewpoint"
        self.path = path
        cleanup = SignalCleanup { unlink(path) }
    }

    /// Gives it the mode of a file that any program would have created, and its name.
    ///
    /// - Returns: `false` when the name is taken and must not be replaced.
    func move(replacing: Bool) throws(FileError) -> Bool {
        let mask = umask(0)
        umask(mask)
        chmod(path, 0o666 & ~mask)
        if !replacing {
            // A name that was created meanwhile is not replaced either. A file system without hard links has only the
            // check before.
            if link(path, target) == 0 { return true }
            if errno == EEXIST { return false }
        }
        try SystemCalls.check("rename", as: "cannot create \(target)") { rename(path, target) }
        return true
    }

    /// Removes its own name; after a rename there is none.
    func remove() {
        unlink(path)
        cleanup.end()
    }
}

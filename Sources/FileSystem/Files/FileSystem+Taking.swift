import Linux
package import Model
import Replica

/// A directory that was there before the container.
extension FileSystem {
    /// Watches the files that programs have open for writing since before they were files of the mount: what these write shows
    /// nowhere else. Blocks; called before the first request.
    package func watchOpenElsewhere() throws(FileError) {
        try replica.forEachLocalFile { files.mapped.noteIfOpenForWriting($0, $1) }
    }
}

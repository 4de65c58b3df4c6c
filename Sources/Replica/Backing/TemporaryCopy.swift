import CLinux
import Glibc
package import Linux
package import Model

/// A copy of a file without a name, which is gone when it is closed.
extension Replica {
    /// - Returns: The copy, and whether it is of one moment: the disk shares the bytes. Otherwise it was made piece by
    ///   piece, and the caller has to find out whether the file was written meanwhile.
    package func temporaryCopy(of source: Descriptor) throws(FileError) -> (copy: Descriptor, isOfOneMoment: Bool) {
        let copy = try Descriptor(state.staging, O_RDWR | CLinux_O_TMPFILE, mode: 0o600, as: "open")
        if ioctl(copy.rawValue, Self.shareBytes, source.rawValue) == 0 { return (copy, true) }
        // Whether it was truncated meanwhile is for the caller to find out too.
        _ = try source.copyBytes(try source.status().size, to: copy)
        return (copy, false)
    }

    /// `FICLONE` of linux/fs.h, which Swift cannot import.
    private static let shareBytes: UInt = 0x4004_9409
}

import CLinux
import Glibc
package import Model

/// A copy of a file without a name, which is gone when it is closed.
extension Replica {
    /// - Returns: The copy, and whether it is of one moment: the disk shares the bytes. Otherwise it was made piece by
    ///   piece, and the caller has to find out whether the file was written meanwhile.
    package func temporaryCopy(of source: Descriptor) throws(FileError) -> (copy: Descriptor, isOfOneMoment: Bool) {
        let raw = Glibc.open(state.staging, O_RDWR | O_CLOEXEC | CLinux_O_TMPFILE, 0o600)
        guard raw >= 0 else { throw FileError(systemCall: errno, "open") }
        let copy = Descriptor(owning: raw)
        if ioctl(raw, Self.shareBytes, source.rawValue) == 0 { return (copy, true) }
        let byteCount = try source.status().size
        try copy.truncate(to: byteCount)
        var offset: Int64 = 0
        while offset < byteCount {
            let data = try source.dataExtent(from: offset, byteCount: byteCount)
            offset = data.start
            while offset < min(data.end, byteCount) {
                let wanted = Int(min(1 << 20, min(data.end, byteCount) - offset))
                let count = try source.copy(to: copy, from: offset, at: offset, byteCount: wanted)
                // It was truncated meanwhile.
                guard count > 0 else { return (copy, false) }
                offset += Int64(count)
            }
        }
        return (copy, false)
    }

    /// `FICLONE` of linux/fs.h, which Swift cannot import.
    private static let shareBytes: UInt = 0x4004_9409
}

import CLinux
import Glibc
package import Model

/// The system calls on the bytes of an open file, each with its error translated once.
extension Descriptor {
    package struct Status {
        package var size: Int64
        package var blocks: Int64
        package var modified: Timestamp
        package var changed: Timestamp
    }

    /// Related: fstat(2).
    package func status() throws(FileError) -> Status {
        var status = stat()
        guard fstat(rawValue, &status) == 0 else { throw FileError(systemCall: errno, "fstat") }
        return Status(
            size: Int64(status.st_size), blocks: Int64(status.st_blocks),
            modified: Timestamp(seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int64(status.st_mtim.tv_nsec)),
            changed: Timestamp(seconds: Int64(status.st_ctim.tv_sec), nanoseconds: Int64(status.st_ctim.tv_nsec)))
    }

    /// Reads up to `byteCount` bytes; fewer only at the end of the file. Related: pread(2).
    package func read(byteCount: Int, at offset: Int64) throws(FileError) -> [UInt8] {
        var failure: FileError?
        let bytes = [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
            do throws(FileError) {
                count = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Fills `buffer`, or less at the end of the file. Related: pread(2).
    /// - Returns: The number of bytes read.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileError) -> Int {
        var count = 0
        while count < buffer.count {
            let result = pread(
                rawValue, buffer.baseAddress! + count, buffer.count - count, off_t(offset) + off_t(count))
            if result < 0 {
                if errno == EINTR { continue }
                throw FileError(systemCall: errno, "pread")
            }
            if result == 0 { break }
            count += result
        }
        return count
    }

    /// Writes all bytes. Related: pwrite(2).
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileError) {
        var done = 0
        while done < bytes.count {
            let result = pwrite(rawValue, bytes.baseAddress! + done, bytes.count - done, off_t(offset) + off_t(done))
            if result < 0 {
                if errno == EINTR { continue }
                throw FileError(systemCall: errno, "pwrite")
            }
            done += result
        }
    }

    /// Related: fsync(2), and with `bytesOnly` fdatasync(2).
    package func synchronize(bytesOnly: Bool = false) throws(FileError) {
        guard (bytesOnly ? fdatasync(rawValue) : fsync(rawValue)) == 0 else {
            throw FileError(systemCall: errno, "fsync")
        }
    }

    /// Related: ftruncate(2).
    package func truncate(to size: Int64) throws(FileError) {
        guard ftruncate(rawValue, off_t(size)) == 0 else { throw FileError(systemCall: errno, "ftruncate") }
    }

    /// Related: fallocate(2).
    package func allocate(mode: Int32, offset: Int64, byteCount: Int64) throws(FileError) {
        guard CLinux_fallocate(rawValue, mode, offset, byteCount) == 0 else {
            throw FileError(systemCall: errno, "fallocate")
        }
    }

    /// Related: lseek(2).
    package func seek(offset: Int64, whence: Int32) throws(FileError) -> Int64 {
        let result = lseek(rawValue, off_t(offset), whence)
        guard result >= 0 else { throw FileError(systemCall: errno, "lseek") }
        return Int64(result)
    }

    /// The next range at or after `offset` that is not a hole; behind the end of the file when there is none.
    ///
    /// Related: lseek(2), `SEEK_DATA` and `SEEK_HOLE`.
    package func dataExtent(from offset: Int64, byteCount: Int64) throws(FileError) -> (start: Int64, end: Int64) {
        let start = lseek(rawValue, off_t(offset), CLinux_SEEK_DATA)
        if start < 0 {
            // ENXIO: a hole up to the end. A file system without SEEK_DATA has no holes.
            return errno == ENXIO ? (byteCount, .max) : (offset, .max)
        }
        return (Int64(start), try seek(offset: Int64(start), whence: CLinux_SEEK_HOLE))
    }

    /// Copies within the kernel, up to `byteCount`: 0 at the end of the source. Related: copy_file_range(2).
    package func copy(to other: Descriptor, from offset: Int64, at otherOffset: Int64, byteCount: Int) throws(FileError)
        -> Int
    {
        let bytes = try read(byteCount: min(byteCount, Self.copyUnit), at: offset)
        try bytes.withBytes { bytes throws(FileError) in try other.write(bytes, at: otherOffset) }
        return bytes.count
    }

    /// How many bytes one step of a copy takes.
    private static let copyUnit = 1 << 20
}

extension [UInt8] {
    /// As `withUnsafeBytes`, with the error typed.
    package func withBytes<Value>(_ body: (UnsafeRawBufferPointer) throws(FileError) -> Value) throws(FileError)
        -> Value
    {
        try withUnsafeBufferPointer { buffer throws(FileError) in try body(UnsafeRawBufferPointer(buffer)) }
    }
}

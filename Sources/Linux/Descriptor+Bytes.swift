import CLinux
import Glibc
package import Model

/// The system calls on the bytes of an open file, each with its error translated once. Where there is a `detail`, people
/// are told it instead of the call's name.
extension Descriptor {
    /// Related: fstat(2).
    package func status() throws(FileError) -> ObjectStatus {
        var status = stat()
        try SystemCalls.check("fstat") { fstat(rawValue, &status) }
        return ObjectStatus(status)
    }

    /// Reads up to `byteCount` bytes; fewer only at the end of the file. Related: pread(2).
    package func read(
        byteCount: Int, at offset: Int64, as detail: @autoclosure () -> String? = nil
    ) throws(FileError) -> [UInt8] {
        var failure: FileError?
        let bytes = [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
            do throws(FileError) {
                count = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset, as: detail())
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Fills `buffer`, or less at the end of the file. Related: pread(2).
    /// - Returns: The number of bytes read.
    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, as detail: @autoclosure () -> String? = nil
    ) throws(FileError) -> Int {
        var count = 0
        while count < buffer.count {
            let result = try SystemCalls.check("pread", as: detail()) {
                pread(rawValue, buffer.baseAddress! + count, buffer.count - count, off_t(offset) + off_t(count))
            }
            if result == 0 { break }
            count += result
        }
        return count
    }

    /// Writes all bytes. Related: pwrite(2).
    package func write(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, as detail: @autoclosure () -> String? = nil
    ) throws(FileError) {
        var done = 0
        while done < bytes.count {
            done += try SystemCalls.check("pwrite", as: detail()) {
                pwrite(rawValue, bytes.baseAddress! + done, bytes.count - done, off_t(offset) + off_t(done))
            }
        }
    }

    /// As of a buffer.
    package func write(
        _ bytes: [UInt8], at offset: Int64, as detail: @autoclosure () -> String? = nil
    ) throws(FileError) {
        try bytes.withBytes { bytes throws(FileError) in try write(bytes, at: offset, as: detail()) }
    }

    /// Writes all bytes where the last ones ended, or at the end of a file that is open for appending. Related:
    /// write(2).
    package func append(_ bytes: UnsafeRawBufferPointer, as detail: @autoclosure () -> String? = nil) throws(FileError)
    {
        var done = 0
        while done < bytes.count {
            done += try SystemCalls.check("write", as: detail()) {
                Glibc.write(rawValue, bytes.baseAddress! + done, bytes.count - done)
            }
        }
    }

    /// Related: fsync(2), and with `bytesOnly` fdatasync(2).
    package func synchronize(
        bytesOnly: Bool = false, as detail: @autoclosure () -> String? = nil
    ) throws(FileError) {
        try SystemCalls.check("fsync", as: detail()) { bytesOnly ? fdatasync(rawValue) : fsync(rawValue) }
    }

    /// Related: ftruncate(2).
    package func truncate(to size: Int64, as detail: @autoclosure () -> String? = nil) throws(FileError) {
        try SystemCalls.check("ftruncate", as: detail()) { ftruncate(rawValue, off_t(size)) }
    }

    /// Related: fallocate(2).
    /// - Throws: `unsupported` where the file system cannot do it.
    package func allocate(mode: Int32, offset: Int64, byteCount: Int64) throws(FileError) {
        try SystemCalls.check("fallocate") { CLinux_fallocate(rawValue, mode, offset, byteCount) }
    }

    /// Related: fchmod(2).
    package func setMode(_ mode: UInt16) throws(FileError) {
        try SystemCalls.check("fchmod") { fchmod(rawValue, mode_t(mode)) }
    }

    /// Sets the times that are not `nil`. Related: futimens(2).
    package func setTimes(accessed: Timestamp? = nil, modified: Timestamp?) throws(FileError) {
        let times = [SystemCalls.timespec(accessed), SystemCalls.timespec(modified)]
        try SystemCalls.check("futimens") { futimens(rawValue, times) }
    }

    /// Takes the file's exclusive lock, without waiting for it. Related: flock(2).
    ///
    /// - Returns: Whether it was free.
    package func lock(as detail: @autoclosure () -> String? = nil) throws(FileError) -> Bool {
        do throws(FileError) {
            try SystemCalls.check("flock", as: detail()) { flock(rawValue, LOCK_EX | LOCK_NB) }
        } catch {
            guard error.code == .wouldBlock else { throw error }
            return false
        }
        return true
    }

    /// Related: lseek(2).
    /// - Throws: `noSuchOffset` for `SEEK_DATA` behind the last data, and `SEEK_HOLE` behind the end of the file.
    package func seek(
        offset: Int64, whence: Int32, as detail: @autoclosure () -> String? = nil
    ) throws(FileError) -> Int64 {
        Int64(try SystemCalls.check("lseek", as: detail()) { lseek(rawValue, off_t(offset), whence) })
    }

    /// The next range at or after `offset` that is not a hole; behind the end of the file when there is none.
    ///
    /// Related: lseek(2), `SEEK_DATA` and `SEEK_HOLE`.
    package func dataExtent(
        from offset: Int64, byteCount: Int64, as detail: @autoclosure () -> String? = nil
    ) throws(FileError) -> (start: Int64, end: Int64) {
        let start = lseek(rawValue, off_t(offset), CLinux_SEEK_DATA)
        if start < 0 {
            // ENXIO: a hole up to the end. A file system without SEEK_DATA has no holes.
            return errno == ENXIO ? (byteCount, .max) : (offset, .max)
        }
        return (Int64(start), try seek(offset: Int64(start), whence: CLinux_SEEK_HOLE, as: detail()))
    }

    /// Copies the bytes to an empty file, with the holes.
    ///
    /// - Parameter name: Of the file, for people.
    /// - Returns: Whether `byteCount` bytes were there: otherwise the file was truncated meanwhile.
    package func copyBytes(
        _ byteCount: Int64, to target: Descriptor, name: String? = nil
    ) throws(FileError) -> Bool {
        try target.truncate(to: byteCount, as: name.map { "truncate \($0)" })
        var offset: Int64 = 0
        while offset < byteCount {
            let data = try dataExtent(from: offset, byteCount: byteCount, as: name.map { "lseek \($0)" })
            let end = min(data.end, byteCount)
            offset = data.start
            while offset < end {
                let wanted = Int(min(Self.copyUnit, end - offset))
                let bytes = try read(byteCount: wanted, at: offset, as: name.map { "read \($0)" })
                guard !bytes.isEmpty else { return false }
                try target.write(bytes, at: offset, as: name.map { "write \($0)" })
                offset += Int64(bytes.count)
            }
        }
        return true
    }

    /// How many bytes one step of a copy takes.
    private static let copyUnit: Int64 = 1 << 20
}

extension [UInt8] {
    /// As `withUnsafeBytes`, with the error typed.
    package func withBytes<Value>(_ body: (UnsafeRawBufferPointer) throws(FileError) -> Value) throws(FileError)
        -> Value
    {
        try withUnsafeBufferPointer { buffer throws(FileError) in try body(UnsafeRawBufferPointer(buffer)) }
    }
}

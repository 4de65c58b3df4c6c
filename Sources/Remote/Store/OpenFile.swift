import Glibc

/// An open file descriptor, closed with its last reference. Every call blocks.
final class OpenFile: Sendable {
    let descriptor: Int32

    /// Related: `open(2)`, with `O_CLOEXEC` added.
    init(path: String, flags: Int32, mode: mode_t = 0) throws(SystemCallFailure) {
        descriptor = try SystemCallFailure.check("open") { open(path, flags | O_CLOEXEC, mode) }
    }

    /// Opens a name in a directory; a symbolic link is not followed. Related: `openat(2)`, with `O_CLOEXEC` and
    /// `O_NOFOLLOW` added.
    init(_ name: String, in directory: OpenFile, flags: Int32, mode: mode_t = 0) throws(SystemCallFailure) {
        descriptor = try SystemCallFailure.check("open") {
            openat(directory.descriptor, name, flags | O_CLOEXEC | O_NOFOLLOW, mode)
        }
    }

    deinit { close(descriptor) }

    /// Reads until the range is full or the file ends. Related: `pread(2)`.
    ///
    /// - Returns: Fewer bytes than requested only at the end of the file.
    func read(_ range: Range<Int64>) throws(SystemCallFailure) -> [UInt8] {
        var failure: SystemCallFailure?
        let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            while count < range.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                let result = pread(descriptor, rest.baseAddress, rest.count, Int(range.lowerBound) + count)
                if result > 0 {
                    count += result
                } else if result == 0 {
                    return
                } else if errno != EINTR {
                    failure = SystemCallFailure(call: "pread", number: errno)
                    return
                }
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Writes all bytes at the descriptor's position. Related: `write(2)`.
    func write(_ bytes: UnsafeRawBufferPointer) throws(SystemCallFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let buffer = UnsafeRawBufferPointer(rebasing: rest)
            let count = Glibc.write(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw SystemCallFailure(call: "write", number: errno)
            }
        }
    }

    /// Related: `fsync(2)`.
    func synchronize() throws(SystemCallFailure) {
        _ = try SystemCallFailure.check("fsync") { fsync(descriptor) }
    }

    /// Related: `fstat(2)`.
    func status() throws(SystemCallFailure) -> stat {
        var status = stat()
        _ = try SystemCallFailure.check("fstat") { fstat(descriptor, &status) }
        return status
    }
}

/// A system call that failed, with its `errno`.
struct SystemCallFailure: Error, CustomStringConvertible {
    let call: String
    let number: Int32
    /// A sentence that is more specific than the number.
    var explanation: String?

    var description: String { explanation ?? "\(call)(2): \(String(cString: strerror(number)))" }

    func storeError(key: String) -> StoreError { StoreError(systemCall: number, key: key, description) }

    /// Makes a call that returns -1 on failure, and repeats it when a signal interrupted it.
    static func check(_ call: String, _ body: () -> Int32) throws(SystemCallFailure) -> Int32 {
        while true {
            let result = body()
            guard result == -1 else { return result }
            guard errno == EINTR else { throw SystemCallFailure(call: call, number: errno) }
        }
    }
}

package enum LockMode: String, Hashable, Sendable, Codable {
    case shared
    case exclusive

    func conflicts(with other: LockMode) -> Bool { self == .exclusive || other == .exclusive }
}

/// The owner of record locks: the kernel's number for a table of open files, which the threads of a process share.
package struct LockOwner: RawRepresentable, Hashable, Sendable, Codable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// A POSIX record lock, held or requested. Related: `fcntl(2)`, `struct flock`.
package struct RecordLock: Hashable, Sendable {
    package var mode: LockMode
    /// Byte offsets, the last one included, as the kernel counts; `Int64.max` means to the end of the file, even as it
    /// grows.
    package var range: ClosedRange<Int64>
    package var owner: LockOwner
    /// The process that F_GETLK reports.
    package var process: ProcessID

    package init(mode: LockMode, range: ClosedRange<Int64>, owner: LockOwner, process: ProcessID) {
        self.mode = mode
        self.range = range
        self.owner = owner
        self.process = process
    }

    func conflicts(with other: RecordLock) -> Bool {
        owner != other.owner && mode.conflicts(with: other.mode) && range.overlaps(other.range)
    }
}

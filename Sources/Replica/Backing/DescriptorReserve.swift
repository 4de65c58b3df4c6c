import Glibc
package import Linux
package import Model

/// Reserves file descriptors for the daemon's own use: the control socket, the index, the store's connections, uploads.
/// Files that programs open cannot take them.
///
/// The kernel assigns the lowest free number. So a file whose number is in the reserve was opened when everything below
/// was in use, and is refused with ENFILE; no counting is needed.
package enum DescriptorReserve {
    /// How many descriptors are reserved: some twenty for the index's readers, as many for the store's connections, the
    /// rest for clients.
    package static let count: Int32 = 64
    /// At least this many are for files, however low the limit.
    private static let leastForFiles: Int32 = 32

    /// Refuses a descriptor of the reserve.
    /// - Throws: `tooManyOpenFiles`.
    package static func spare(_ descriptor: Descriptor) throws(FileError) {
        guard allows(descriptor) else {
            throw FileError(.tooManyOpenFiles, "the daemon has reached its limit of open files (`ulimit -n`)")
        }
    }

    /// How many descriptors are left for files besides this one; 0 for one of the reserve.
    package static func countLeft(besides descriptor: Descriptor) -> Int {
        max(0, Int(firstReserved) - Int(descriptor.rawValue) - 1)
    }

    /// The most connections of clients at a time, a quarter of what is not reserved; more of them wait.
    package static var connectionLimit: Int { max(Int(leastForFiles), Int(firstReserved) / 4) }

    /// The most directories that are kept open, an eighth of what is not reserved: any program can have as many visited.
    static var directoryLimit: Int { max(1, Int(firstReserved) / 8) }

    static func allows(_ descriptor: Descriptor) -> Bool { descriptor.rawValue < firstReserved }

    /// Read each time: the limit of a running process can be changed. Related: prlimit(1).
    private static var firstReserved: Int32 {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        return max(Int32(clamping: limit.rlim_cur) - count, leastForFiles)
    }

    /// How many descriptors a daemon that may do so takes: more than programs with usual limits need together.
    private static let wantedLimit: rlim_t = 1 << 18

    /// Raises the limit of descriptors: every open file takes one. To the hard limit, or beyond it with
    /// `CAP_SYS_RESOURCE`. Related: setrlimit(2).
    package static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        if limit.rlim_max < wantedLimit {
            var raised = rlimit(rlim_cur: wantedLimit, rlim_max: wantedLimit)
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { return }
        }
        limit.rlim_cur = limit.rlim_max
        // Fails only above the hard limit, and then the old limit stays.
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

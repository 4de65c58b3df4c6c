import Glibc
package import Model

/// Keeps file descriptors back from the files that programs open, for what must go on without asking: the control socket, the index, the
/// store's connections, uploads.
///
/// The kernel gives out the lowest number that is free. So a file whose number lies in the reserve was opened when everything below was in
/// use, and is refused with ENFILE; nothing has to be counted.
package enum DescriptorReserve {
    /// How many descriptors are kept back: some twenty for the index's readers, as many for the store's connections, the rest for clients.
    package static let count: Int32 = 64
    /// At least so many are for files, however low the limit.
    private static let leastForFiles: Int32 = 32

    /// Refuses a descriptor of the reserve.
    /// - Throws: `tooManyOpenFiles`.
    package static func spare(_ descriptor: Descriptor) throws(FileError) {
        guard allows(descriptor) else {
            throw FileError(.tooManyOpenFiles, "the daemon has as many files open as `ulimit -n` allows it")
        }
    }

    static func allows(_ descriptor: Descriptor) -> Bool { descriptor.rawValue < firstReserved }

    /// Asked each time: the limit of a running process can be changed. Related: prlimit(1).
    private static var firstReserved: Int32 {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        return max(Int32(clamping: limit.rlim_cur) - count, leastForFiles)
    }

    /// Takes as many descriptors as this process may have: every open file takes one. Related: setrlimit(2).
    package static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        // Refused only for more than it may have, and then it keeps what it has.
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

import Glibc

/// Images of this process's memory, which has secrets in it.
package enum CoreDumps {
    /// No crash leaves one behind.
    ///
    /// With a limit of 0 the kernel still pipes one to a program such as systemd-coredump(8); with 1 byte it does not.
    /// Related: core(5), and `do_coredump()` in the kernel's fs/coredump.c.
    package static func forbid() {
        var one = rlimit(rlim_cur: 1, rlim_max: 1)
        // Fails where the limit is 0 already.
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &one)
    }
}

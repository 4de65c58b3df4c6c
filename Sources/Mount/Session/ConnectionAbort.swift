import Glibc

/// The kernel's means to end one FUSE connection, whoever serves it and wherever it is mounted. Only root has it. Related: fuse(4).
package final class ConnectionAbort: Sendable {
    private let descriptor: Int32

    /// Holds on to the connection of this moment: once its mount is gone, its number is the next mount's.
    ///
    /// - Parameter number: The minor device number of the mount.
    /// - Returns: `nil` without the right, or without the control file system.
    package init?(number: some StringProtocol) {
        let opened = open("/sys/fs/fuse/connections/\(number)/abort", O_WRONLY | O_CLOEXEC)
        guard opened >= 0 else { return nil }
        descriptor = opened
    }

    /// Ends the connection: every request fails, and its server is told that the mount has gone. One that is gone is left alone.
    package func perform() { _ = write(descriptor, "1", 1) }

    deinit { close(descriptor) }
}

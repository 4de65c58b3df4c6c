import Glibc
import Linux

/// Aborts one FUSE connection through the kernel, whichever process serves it and wherever it is mounted. Root only.
/// Related: fuse(4).
package final class ConnectionAbort: Sendable {
    private let file: Descriptor

    /// Refers to the current connection: once its mount is gone, its number is reused by the next mount.
    ///
    /// - Parameter number: The minor device number of the mount.
    /// - Returns: `nil` without the permission, or without the control file system.
    package init?(number: some StringProtocol) {
        guard let file = try? Descriptor("/sys/fs/fuse/connections/\(number)/abort", O_WRONLY) else { return nil }
        self.file = file
    }

    /// Aborts the connection: every request fails, and its server learns that the mount is gone. Does nothing if it has
    /// ended.
    package func perform() { _ = write(file.rawValue, "1", 1) }
}

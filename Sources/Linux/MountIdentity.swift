import CLinux
import Glibc
package import Model

/// The mount of a file system by which an object was reached. Files can be moved within one alone: another mount of the same file
/// system, such as a bind mount, is as far away as another one. Related: rename(2), `EXDEV`.
package struct MountIdentity: Hashable, Sendable {
    private let device: UInt64
    /// As in `/proc/self/mountinfo`; `nil` on kernels before 5.8.
    package let number: UInt64?

    package init(of object: Descriptor) throws(FileError) {
        device = try object.status().device
        let status = try SystemCalls.extendedStatus(nil, in: object, mask: UInt32(STATX_MNT_ID))
        number = status.stx_mask & UInt32(STATX_MNT_ID) != 0 ? status.stx_mnt_id : nil
    }

    /// Whether files can be moved from one to the other, as far as that can be told.
    package func reaches(_ other: MountIdentity) -> Bool {
        guard device == other.device else { return false }
        guard let number, let other = other.number else { return true }
        return number == other
    }
}

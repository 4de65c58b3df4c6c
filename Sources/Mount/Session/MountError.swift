/// Why a directory could not be mounted on or unmounted. The description says how to fix it.
package enum MountError: Error, Equatable, Sendable {
    case mountpointMissing(String)
    case notDirectory(String)
    case notEmpty(String)
    /// Another file system, or another container, is mounted there.
    case alreadyMounted(String, type: String)
    /// A mount whose daemon is dead, which could not be cleaned up.
    case staleMount(String, detail: String)
    case mountpointDenied(String, detail: String)
    /// The kernel lacks FUSE.
    case noDevice
    case deviceDenied
    /// `fusermount3` is not installed and the caller is not root.
    case helperMissing
    /// Files below the mountpoint are in use.
    case busy(String)
    case notMounted(String)
    /// As libfuse or the kernel reported it.
    case refused(String, detail: String)
}

extension MountError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .mountpointMissing(let path):
            "\(path) does not exist; create it with `mkdir -p`"
        case .notDirectory(let path):
            "\(path) is not a directory; a container is mounted on a directory"
        case .notEmpty(let path):
            "\(path) is not empty; choose an empty directory, or cover this one with `-o nonempty`"
        case .alreadyMounted(let path, "fuse.dewpoint"):
            "a container is already mounted at \(path); unmount it with `dewpoint unmount \(path)`"
        case .alreadyMounted(let path, let type):
            "\(path) is already a mountpoint (\(type)); choose another directory or unmount it first"
        case .staleMount(let path, let detail):
            "a dead mount at \(path) could not be removed (\(detail)); remove it with `umount -l \(path)`"
        case .mountpointDenied(let path, let detail):
            "\(path) cannot be used as a mountpoint: \(detail)"
        case .noDevice:
            "there is no /dev/fuse; load it with `modprobe fuse`, or give the virtual machine or container the device"
        case .deviceDenied:
            "permission denied for /dev/fuse; run as root, or give all users access with `chmod 666 /dev/fuse`"
        case .helperMissing:
            "fusermount3 was not found; install it with `apt-get install fuse3`, or run as root"
        case .busy(let path):
            "\(path) is in use; close the files open there, or unmount it with `dewpoint unmount --lazy \(path)`"
        case .notMounted(let path):
            "nothing is mounted at \(path)"
        case .refused(let path, let detail):
            "mounting or unmounting \(path) failed: \(detail)"
        }
    }
}

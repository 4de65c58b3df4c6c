import CFuse
import FileSystem
import Model

/// The functions that libfuse calls, on its own threads.
///
/// Each has one shape: translate, call the file system, reply once. libfuse answers operations missing from the table
/// with ENOSYS, and the kernel does not send them again: access (`default_permissions` checks), ioctl, poll, bmap.
enum Operations {
    static func makeTable() -> fuse_lowlevel_ops {
        var table = fuse_lowlevel_ops()
        table.`init` = { userdata, connection in
            FileSystemSession.of(userdata).began(&connection!.pointee)
        }
        addNames(to: &table)
        addAttributes(to: &table)
        addDirectories(to: &table)
        addFiles(to: &table)
        addBytes(to: &table)
        addLocks(to: &table)
        addExtendedAttributes(to: &table)
        return table
    }
}

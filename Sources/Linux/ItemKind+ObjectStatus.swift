import Glibc
package import Model

extension ItemKind {
    /// That of what `stat(2)` tells of. Related: inode(7), `S_IFMT`.
    package init(_ status: ObjectStatus) {
        switch status.kind {
        case S_IFREG: self = .file
        case S_IFDIR: self = .directory
        case S_IFLNK: self = .symbolicLink
        case S_IFIFO: self = .fifo
        case S_IFSOCK: self = .socket
        case S_IFCHR: self = .characterDevice
        default: self = .blockDevice
        }
    }
}

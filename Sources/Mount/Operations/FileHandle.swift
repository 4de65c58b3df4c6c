import CFuse
import FileSystem
import Model

/// The number that the kernel passes with each request on an open file: the file system's handle, and how it was
/// opened.
struct FileHandle {
    let handle: HandleID
    /// Whether it holds the inode's backing file open.
    let isPassthrough: Bool

    init(_ handle: HandleID, isPassthrough: Bool) {
        self.handle = handle
        self.isPassthrough = isPassthrough
    }

    init(_ information: UnsafeMutablePointer<fuse_file_info>?) {
        // libfuse passes the information with every operation on an open file.
        let word = information!.pointee.fh
        handle = HandleID(rawValue: word >> 1)
        isPassthrough = word & 1 == 1
    }

    var word: UInt64 { handle.rawValue << 1 | (isPassthrough ? 1 : 0) }
}

extension HandleID {
    init(_ information: UnsafeMutablePointer<fuse_file_info>?) { self = FileHandle(information).handle }
}

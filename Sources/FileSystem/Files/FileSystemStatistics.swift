import Glibc
import Model

/// The result of `statvfs(3)` for the disk that holds the state.
package struct FileSystemStatistics: Sendable, Hashable {
    package var blockSize: UInt
    package var fragmentSize: UInt
    package var blocks: UInt
    package var freeBlocks: UInt
    package var availableBlocks: UInt
    package var files: UInt
    package var freeFiles: UInt

    init(ofDiskUnder path: String) throws(FileError) {
        var values = statvfs()
        guard statvfs(path, &values) == 0 else { throw FileError(systemCall: errno, "statvfs \(path)") }
        blockSize = UInt(values.f_bsize)
        fragmentSize = UInt(values.f_frsize)
        blocks = UInt(values.f_blocks)
        freeBlocks = UInt(values.f_bfree)
        availableBlocks = UInt(values.f_bavail)
        files = UInt(values.f_files)
        freeFiles = UInt(values.f_ffree)
    }
}

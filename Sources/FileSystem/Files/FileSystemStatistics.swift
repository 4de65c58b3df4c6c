import Glibc
import Linux
import Model

/// The result of `statvfs(3)`: for the disk that holds the state, or a container with a quota.
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
        try SystemCalls.check("statvfs", path) { statvfs(path, &values) }
        blockSize = UInt(values.f_bsize)
        fragmentSize = UInt(values.f_frsize)
        blocks = UInt(values.f_blocks)
        freeBlocks = UInt(values.f_bfree)
        availableBlocks = UInt(values.f_bavail)
        files = UInt(values.f_files)
        freeFiles = UInt(values.f_ffree)
    }

    /// Describes a container's quota instead of the disk.
    ///
    /// What is available is limited by the disk too: a file is first written there. What is free is not: `df` takes the
    /// difference to the total for what is used.
    mutating func limit(to quota: ContainerQuota, used: Int64) {
        let unit = max(fragmentSize, 1)
        let rest = UInt(max(0, quota.byteCount - used)) / unit
        blocks = (UInt(quota.byteCount) + unit - 1) / unit
        freeBlocks = rest
        availableBlocks = min(availableBlocks, rest)
    }
}

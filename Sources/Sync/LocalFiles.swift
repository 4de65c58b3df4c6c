package import Model
package import Replica

/// The files as programs use them on this device, and what sync asks and tells of them.
package protocol LocalFiles: Sendable {
    /// What the kernel remembers.
    var kernel: any KernelCache { get }

    func isOpen(_ inode: InodeNumber) -> Bool
    func isOpenForWriting(_ inode: InodeNumber) -> Bool
    /// Prepares an upload of a file: from here on the next write counts it as changed again.
    ///
    /// - Returns: `false` while a write is in flight, or a writer has the file open and wrote less than `quiet` ago.
    func beginUpload(of inode: InodeNumber, quiet: Duration) -> Bool
    /// Records size and times of a file that is open, so that the index knows them as they are.
    ///
    /// - Returns: The bytes; `nil` when nobody has the file open.
    func recordOpenBytes(of inode: InodeNumber) throws(FileError) -> Descriptor?
    /// An inode has no name any more: it goes once nobody holds it.
    func becameOrphan(_ inode: InodeNumber) throws(FileError)
    /// Newer bytes of a file that is downloaded have come into being.
    func requestDownload(of inode: InodeNumber)
}

/// Nothing is mounted: no program has anything open.
package struct NoLocalFiles: LocalFiles {
    private let replica: Replica

    package init(replica: Replica) { self.replica = replica }

    package var kernel: any KernelCache { NoKernelCache() }

    package func isOpen(_ inode: InodeNumber) -> Bool { false }
    package func isOpenForWriting(_ inode: InodeNumber) -> Bool { false }
    package func beginUpload(of inode: InodeNumber, quiet: Duration) -> Bool { true }
    package func recordOpenBytes(of inode: InodeNumber) throws(FileError) -> Descriptor? { nil }
    package func becameOrphan(_ inode: InodeNumber) throws(FileError) { try replica.forget(inode) }
    package func requestDownload(of inode: InodeNumber) {}
}

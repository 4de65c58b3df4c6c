package import Model
package import Replica
package import Linux

/// The files as programs use them on this device, as far as sync needs to know and report.
package protocol LocalFiles: Sendable {
    /// The kernel's cache.
    var kernel: any KernelCache { get }

    func isOpen(_ inode: InodeNumber) -> Bool
    func isOpenForWriting(_ inode: InodeNumber) -> Bool
    /// Prepares an upload of a file: from here on the next write marks it as modified again.
    ///
    /// - Returns: `false` while a write is in flight, or while a writer has the file open or mapped and wrote less than
    ///   `quiet` ago.
    func beginUpload(of inode: InodeNumber, quiet: Duration) throws(FileError) -> Bool
    /// Whether no write has begun since ``beginUpload(of:quiet:)``.
    ///
    /// To be asked after the file's generation was read. A write marks the file once: one that came before would be in
    /// that generation, and later ones would not change it, so that bytes which were not read would count as uploaded.
    func isUnwritten(_ inode: InodeNumber) throws(FileError) -> Bool
    /// Records size and times of an open file in the index.
    ///
    /// - Returns: The bytes; `nil` when the file is not open, or not local.
    func recordOpenBytes(of inode: InodeNumber) throws(FileError) -> Descriptor?
    /// Records in the index what was written to files without notice, through mappings that the kernel passed to the
    /// backing files.
    func recordStores() throws(FileError)
    /// An inode no longer has a name: it is removed once no process holds it.
    func becameOrphan(_ inode: InodeNumber) throws(FileError)
    /// A local file has newer bytes in the container: they are downloaded, unless its sync is paused.
    func requestDownload(of inode: InodeNumber)
}

/// Nothing is mounted: no program has a file open.
package struct NoLocalFiles: LocalFiles {
    private let replica: Replica

    package init(replica: Replica) { self.replica = replica }

    package var kernel: any KernelCache { NoKernelCache() }

    package func isOpen(_ inode: InodeNumber) -> Bool { false }
    package func isOpenForWriting(_ inode: InodeNumber) -> Bool { false }
    package func beginUpload(of inode: InodeNumber, quiet: Duration) throws(FileError) -> Bool { true }
    package func isUnwritten(_ inode: InodeNumber) throws(FileError) -> Bool { true }
    package func recordOpenBytes(of inode: InodeNumber) throws(FileError) -> Descriptor? { nil }
    package func recordStores() throws(FileError) {}
    package func becameOrphan(_ inode: InodeNumber) throws(FileError) {
        try replica.change(freeing: true) { try $0.forget(inode) }
    }
    package func requestDownload(of inode: InodeNumber) {}
}

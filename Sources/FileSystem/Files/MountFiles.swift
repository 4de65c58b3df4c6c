import Logging
package import Model
import Replica
package import Sync
package import Linux

/// The files of the mount, as sync sees them.
package final class MountFiles: LocalFiles {
    package let open: OpenFiles
    package let mapped: MappedFiles
    let orphans: Orphans
    let kernelLink: KernelLink
    let superseded = SupersededOpens()
    private let downloads: Downloads
    private let context: SyncContext

    init(_ context: SyncContext, open: OpenFiles, orphans: Orphans, kernelLink: KernelLink, downloads: Downloads) {
        self.context = context
        self.open = open
        mapped = MappedFiles(logger: context.logger)
        self.orphans = orphans
        self.kernelLink = kernelLink
        self.downloads = downloads
    }

    package var kernel: any KernelCache { kernelLink }

    package func isOpen(_ inode: InodeNumber) -> Bool { open.inode(inode) != nil || mapped.isMapped(inode) }

    package func isOpenForWriting(_ inode: InodeNumber) -> Bool {
        open.inode(inode)?.hasWriters == true || mapped.isMapped(inode)
    }

    package func beginUpload(of inode: InodeNumber, quiet: Duration) throws(FileError) -> Bool {
        let file = open.inode(inode)
        if let file, !file.beginUpload(uptime: context.environment.uptime(), quiet: quiet) { return false }
        if let file, file.isVolatile, let bytes = file.descriptor {
            return try syncIfQuiet(bytes, quiet: quiet) { () throws(FileError) in try file.noticeMappedWrites() }
        }
        guard let bytes = mapped.descriptor(of: inode), try recordMappedBytes(of: inode) else { return true }
        return try syncIfQuiet(bytes, quiet: quiet) { () throws(FileError) in try recordMappedBytes(of: inode) }
    }

    package func isUnwritten(_ inode: InodeNumber) -> Bool { open.inode(inode)?.isUnwritten != false }

    /// Prepares the bytes of a file that may be mapped: from here on the next store into the mapping shows.
    /// - Returns: `false` while they are being changed.
    private func syncIfQuiet(
        _ bytes: Descriptor, quiet: Duration, notice: () throws(FileError) -> Void
    ) throws(FileError) -> Bool {
        guard try !changed(bytes, within: quiet) else { return false }
        try bytes.synchronize(bytesOnly: true)
        try notice()
        return try !changed(bytes, within: quiet)
    }

    /// Whether a file that may be mapped was changed a short time ago.
    ///
    /// The kernel changes the times with the first store into a page since it was written to the disk: after a sync
    /// every further store shows. But two within one tick of its clock give the same time.
    private func changed(_ bytes: Descriptor, within span: Duration) throws(FileError) -> Bool {
        // Before the clock is read, which is never behind a time that the disk has given.
        let changed = try BackingStatus(of: bytes).changed
        let age = context.environment.now().rawValue - changed.rawValue
        return age >= 0 && .nanoseconds(age) < span
    }

    /// Whether a program may store into a mapping of a file that the kernel passed to the backing file.
    func mayBeMapped(_ inode: InodeNumber) -> Bool { open.inode(inode)?.isVolatile == true || mapped.isMapped(inode) }

    /// Whether a file may be so mapped, or was a short time ago.
    package func isPossiblyMapped(_ inode: InodeNumber) -> Bool {
        open.inode(inode)?.isVolatile == true || mapped.descriptor(of: inode) != nil
    }

    /// The files that may be so mapped, or were a short time ago.
    var possiblyMapped: [InodeNumber] {
        open.openInodes.filter(\.isVolatile).map(\.number) + mapped.numbers
    }

    package func recordStores() throws(FileError) {
        for inode in possiblyMapped {
            do throws(FileError) {
                if let file = open.inode(inode), file.isVolatile {
                    try file.noticeMappedWrites()
                    _ = try recordOpenBytes(of: inode)
                }
            } catch {
                // Removed since.
                guard error.code == .notFound else { throw error }
            }
            try recordMappedBytes(of: inode)
        }
    }

    /// Records in the index what was written to a closed file through a mapping.
    /// - Returns: Whether it may be written to further.
    @discardableResult
    func recordMappedBytes(of inode: InodeNumber) throws(FileError) -> Bool {
        guard let bytes = mapped.descriptor(of: inode) else { return false }
        // Asked first: what nobody can write to does not change after it either.
        let isMapped = mapped.isMapped(inode)
        let status = try BackingStatus(of: bytes)
        do throws(FileError) {
            if !mapped.isRecorded(status, of: inode) {
                mapped.noteRecorded(
                    try context.replica.change { try $0.recordMappedBytes(of: inode, from: bytes) }, of: inode)
                open.noteRecording(of: inode)
                kernelLink.inodeChanged(inode, bytes: mapped.bypassesCache(inode))
                context.activity.noteLocalChange()
            }
        } catch {
            // Removed since, or another file has taken its place.
            guard error.code == .notFound || error.code == .superseded else { throw error }
            mapped.remove(inode, bytes)
            return false
        }
        if !isMapped { mapped.remove(inode, bytes) }
        return isMapped
    }

    package func recordOpenBytes(of inode: InodeNumber) throws(FileError) -> Descriptor? {
        guard let file = open.inode(inode) else { return nil }
        if let (descriptor, change) = file.unrecorded {
            file.noteRecorded(
                try context.replica.change { try $0.recordBytes(of: inode, from: descriptor) }, change: change)
            open.noteRecording(of: inode)
        }
        return file.descriptor
    }

    package func becameOrphan(_ inode: InodeNumber) throws(FileError) {
        orphans.insert(inode)
        if orphans.takeUnused(inode) { try context.replica.change(freeing: true) { try $0.forget(inode) } }
    }

    package func requestDownload(of inode: InodeNumber) {
        do throws(FileError) {
            // While sync of the file is paused, the older bytes stay.
            if try !context.replica.look({ try $0.isPaused(inode) }) { downloads.enqueue(inode) }
        } catch {
            context.logger.error(
                "failed to request a download", metadata: ["inode": "\(inode)", "error": "\(error)"])
        }
    }
}

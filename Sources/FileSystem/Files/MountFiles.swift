import Logging
import Model
import Replica
import Sync

/// The files of the mount, as sync sees them.
final class MountFiles: LocalFiles {
    let open: OpenFiles
    let orphans: Orphans
    let kernelLink: KernelLink
    private let downloads: Downloads
    private let context: SyncContext

    init(_ context: SyncContext, open: OpenFiles, orphans: Orphans, kernelLink: KernelLink, downloads: Downloads) {
        self.context = context
        self.open = open
        self.orphans = orphans
        self.kernelLink = kernelLink
        self.downloads = downloads
    }

    var kernel: any KernelCache { kernelLink }

    func isOpen(_ inode: InodeNumber) -> Bool { open.inode(inode) != nil }

    func isOpenForWriting(_ inode: InodeNumber) -> Bool { open.inode(inode)?.hasWriters == true }

    func beginUpload(of inode: InodeNumber, quiet: Duration) -> Bool {
        open.inode(inode)?.beginUpload(uptime: context.environment.uptime(), quiet: quiet) ?? true
    }

    func recordOpenBytes(of inode: InodeNumber) throws(FileError) -> Descriptor? {
        guard let file = open.inode(inode) else { return nil }
        if let (descriptor, change) = file.unrecorded {
            file.noteRecorded(try context.replica.recordBytes(of: inode, from: descriptor), change: change)
            open.noteRecording(of: inode)
        }
        return file.descriptor
    }

    func becameOrphan(_ inode: InodeNumber) throws(FileError) {
        orphans.insert(inode)
        if open.inode(inode) == nil, orphans.take(inode) { try context.replica.forget(inode) }
    }

    func requestDownload(of inode: InodeNumber) {
        do throws(FileError) {
            // While sync of the file is paused, the older bytes stay.
            if try !context.replica.isPaused(inode) { downloads.enqueue(inode) }
        } catch {
            context.logger.error(
                "failed to request a download", metadata: ["inode": "\(inode)", "error": "\(error)"])
        }
    }
}

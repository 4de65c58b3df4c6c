import Glibc
import Model
import Replica
import Sync
package import Linux

/// How the kernel accesses an open file.
package enum OpenAccess: Sendable {
    /// Through the page cache; with `keepsCache`, cached pages survive from one open to the next.
    case cached(keepsCache: Bool)
    /// Bypassing the page cache: every read and write reaches the engine.
    case direct
    /// The kernel reads and maps the backing file itself; with `alsoDirect`, read(2) and write(2) still reach the
    /// engine.
    case passthrough(descriptor: Descriptor, alsoDirect: Bool)
}

extension OpenAccess {
    /// The file number of the backing file for the kernel, with pass-through.
    package var backingFileNumber: Int32? {
        if case .passthrough(let descriptor, _) = self { descriptor.rawValue } else { nil }
    }
}

/// The first open of an inode decides how everybody accesses it.
extension FileSystem {
    /// The mode of a file that is not open, by its first open. Where that writes, everybody uses the page cache, in
    /// which databases read what they wrote without asking the daemon; otherwise the kernel reads the backing file.
    func access(to descriptor: Descriptor?, by request: OpenRequest) -> OpenInode.Access {
        guard let descriptor else { return .direct }
        // A map outlives the close of a passed-through file. It is one of the backing file, and would not show what is
        // stored into the cached pages, nor these what is stored into it.
        if request.isFirstForWriting, !files.mapped.isInUse(request.inode, open: descriptor) { return .cached }
        files.mapped.notePassThrough(of: request.inode)
        return .passthrough
    }

    /// How the kernel accesses this handle, by the mode chosen at the inode's first open.
    ///
    /// Writers use the page cache, which sends each write at once: a direct write would be lost if a process stores into
    /// a mapping of the same page at that moment, as the kernel then writes the whole page back with its older contents.
    /// Only a writer that comes to a file which others read through the kernel is direct; there, mappings are those of
    /// the backing file.
    func openAccess(_ handle: OpenHandle) -> OpenAccess {
        switch handle.inode.access {
        case .direct: handle.isWritable ? .cached(keepsCache: false) : .direct
        case .cached:
            // While a file is passed through, nobody tells the kernel's cache of changes.
            .cached(keepsCache: handle.inode.isCacheCurrent || !mountAbilities.hasPassedThrough)
        case .passthrough:
            if let descriptor = handle.inode.readable {
                .passthrough(
                    descriptor: descriptor, alsoDirect: handle.isWritable || handle.inode.descriptor == nil)
            } else {
                .direct
            }
        }
    }

    // MARK: Readers that are gone

    /// Whether everybody who has read the file through the kernel has closed it, and the last release may be under way:
    /// the kernel sends it when close(2) has returned. With it the mode of the file ends; a writer before it would be
    /// bound to that mode.
    func isOnlyClosing(_ number: InodeNumber) -> Bool {
        guard let open = files.open.inode(number) else { return false }
        return open.access == .passthrough && open.isOnlyClosing
    }

    /// Whether a file that is not open is in use: by a map that is left, or by a descriptor of ours that is being closed.
    func isInUse(_ number: InodeNumber) -> Bool {
        guard files.mapped.wasPassedThrough(number), files.open.inode(number) == nil else { return false }
        _ = try? files.recordMappedBytes(of: number)
        guard let descriptor = try? replica.openBytes(of: number) else { return false }
        return files.open.isNotOpen(number) { files.mapped.isInUse(number, open: descriptor) }
    }

    /// - Throws: ``FileError/Code/interrupted``
    func awaitReaders(of number: InodeNumber) async throws(FileError) {
        var usedCount = 0
        for _ in 0..<Self.releaseAttempts {
            if !isOnlyClosing(number) {
                guard usedCount < Self.useAttempts, isInUse(number) else { return }
                usedCount += 1
            }
            do { try await environment.sleep(Self.releasePause) } catch {
                throw FileError(.interrupted, "the open of \(number) was interrupted")
            }
        }
        files.open.inode(number)?.noteHeld()
    }

    /// There was a close(2) of a copy of the descriptor if a release does not come in this time, even on a busy machine.
    private static let releaseAttempts = 50
    /// There is a map if the file is in use for longer.
    private static let useAttempts = 3
    private static let releasePause = Duration.milliseconds(1)
}

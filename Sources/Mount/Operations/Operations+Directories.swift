import CFuse
import FileSystem
import Metering
import Model

/// opendir(3), readdir(3), closedir(3), fsync(2) of a directory.
extension Operations {
    static func addDirectories(to table: inout fuse_lowlevel_ops) {
        table.opendir = { request, inode, information in
            let handle = DirectoryHandle(inode: InodeNumber(inode))
            let retained = Unmanaged.passRetained(handle)
            var information = information!.pointee
            information.fh = UInt64(UInt(bitPattern: retained.toOpaque()))
            // Fails when the caller was interrupted: then no RELEASEDIR follows.
            if !Reply(Request(request, .opendir)).opened(&information) { retained.release() }
        }
        table.readdir = { request, _, byteCount, offset, information in
            Operations.list(Request(request, .readdir), byteCount, Int64(offset), information, withAttributes: false)
        }
        table.readdirplus = { request, _, byteCount, offset, information in
            Operations.list(Request(request, .readdirplus), byteCount, Int64(offset), information, withAttributes: true)
        }
        table.releasedir = { request, _, information in
            Operations.directory(information).release()
            Reply(Request(request, .releasedir)).done()
        }
        table.fsyncdir = { request, inode, _, _ in
            let request = Request(request, .fsyncdir)
            request.answer { () throws(FileError) in
                try request.fileSystem.syncDirectory(InodeNumber(inode))
            } with: { reply, _ in
                reply.done()
            }
        }
    }

    /// The kernel passes the reply to OPENDIR back, until RELEASEDIR.
    private static func directory(_ information: UnsafeMutablePointer<fuse_file_info>?) -> Unmanaged<DirectoryHandle> {
        Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: UInt(information!.pointee.fh))!)
    }

    private static func list(
        _ request: Request, _ byteCount: Int, _ offset: Int64, _ information: UnsafeMutablePointer<fuse_file_info>?,
        withAttributes: Bool
    ) {
        list(request, byteCount, offset, directory(information).takeUnretainedValue(), withAttributes)
    }

    private static func list(
        _ request: Request, _ byteCount: Int, _ offset: Int64, _ directory: DirectoryHandle, _ withAttributes: Bool
    ) {
        withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 8) { buffer in
            var page = DirectoryPage(request, buffer, withAttributes: withAttributes)
            do throws(FileError) {
                try directory.list(from: offset, into: &page, fileSystem: request.fileSystem)
            } catch {
                // The entries already in the page carry lookups that the kernel must receive; the error follows with
                // the next page.
                if page.byteCount == 0 {
                    guard error.code == .treeIncomplete else { return Reply(request).error(error) }
                    return ParkedRequest.park(request, interruptedBy: .ending) { () async throws(FileError) in
                        try await request.fileSystem.wholeTree()
                    } thenReply: {
                        list(request, byteCount, offset, directory, withAttributes)
                    }
                }
            }
            Reply(request).entries(page)
        }
    }
}

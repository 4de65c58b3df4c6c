import CFuse
import FileSystem
import Metering
import Model

/// opendir(3), readdir(3), closedir(3), fsync(2) of a directory.
extension Operations {
    static func addDirectories(to table: inout fuse_lowlevel_ops) {
        table.opendir = { request, inode, information in
            let request = Request(request, .opendir)
            let directories = request.session.directories
            let number = directories.add(InodeNumber(inode))
            var information = information!.pointee
            information.fh = number
            // Fails when the caller was interrupted: then no RELEASEDIR follows.
            if !Reply(request).opened(&information) { directories.remove(number) }
        }
        table.readdir = { request, inode, byteCount, offset, information in
            let request = Request(request, .readdir)
            let directory = request.session.directories.handle(information!.pointee.fh, of: InodeNumber(inode))
            Operations.list(request, byteCount, Int64(offset), directory, withAttributes: false)
        }
        table.readdirplus = { request, inode, byteCount, offset, information in
            let request = Request(request, .readdirplus)
            let directory = request.session.directories.handle(information!.pointee.fh, of: InodeNumber(inode))
            Operations.list(request, byteCount, Int64(offset), directory, withAttributes: true)
        }
        table.releasedir = { request, _, information in
            let request = Request(request, .releasedir)
            request.session.directories.remove(information!.pointee.fh)
            Reply(request).done()
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

    private static func list(
        _ request: Request, _ byteCount: Int, _ offset: Int64, _ directory: DirectoryHandle, withAttributes: Bool
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
                        list(request, byteCount, offset, directory, withAttributes: withAttributes)
                    }
                }
            }
            Reply(request).entries(page)
        }
    }
}

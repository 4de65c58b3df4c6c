import CFuse
import FileSystem
import Glibc
import Model

/// The one reply to a request. Dropping it unused answers EIO, so that no caller waits forever.
///
/// libfuse's own result is ignored where nothing depends on it: it says that the caller was interrupted or that the
/// mount is gone, and then no caller waits for the reply.
struct Reply: ~Copyable {
    let request: fuse_req_t
    let measurement: Measurement

    init(_ request: Request) {
        self.request = request.pointer
        measurement = request.measurement
    }

    var session: FileSystemSession { FileSystemSession.of(fuse_req_userdata(request)) }
    private var lifetime: CacheLifetime { session.currentCacheLifetime }

    deinit {
        fuse_reply_err(request, EIO)
        measurement.end(EIO)
    }

    consuming func error(_ number: Int32) {
        fuse_reply_err(request, number)
        measurement.end(number)
        discard self
    }

    consuming func error(_ error: FileError) {
        // What only names an inode finds nothing when that is gone: then the kernel looks the path up again.
        let number = error.code == .notFound && measurement.operation.namesInode ? ESTALE : error.errno
        fuse_reply_err(request, number)
        measurement.end(number)
        discard self
    }

    consuming func done() {
        fuse_reply_err(request, 0)
        measurement.end()
        discard self
    }

    /// For requests without an answer, such as FORGET.
    consuming func none() {
        fuse_reply_none(request)
        measurement.end()
        discard self
    }

    /// - Parameter attributes: Of an inode whose reference is counted already.
    consuming func entry(_ attributes: Attributes) {
        var entry = fuse_entry_param(attributes, lifetime)
        let fileSystem = session.fileSystem
        let result = fuse_reply_entry(request, &entry)
        // The caller was interrupted, so the kernel did not take the reference.
        if result != 0 { fileSystem.forget(attributes.inode) }
        measurement.end()
        discard self
    }

    /// The same for an inode that was just created, or got another name.
    consuming func newEntry(_ attributes: Attributes) {
        let attributes = session.fileSystem.referenced(attributes)
        entry(attributes)
    }

    /// Replies that there is no such entry, in a form that the kernel caches.
    consuming func noEntry() {
        var entry = fuse_entry_param()
        entry.entry_timeout = lifetime.entry
        fuse_reply_entry(request, &entry)
        measurement.end()
        discard self
    }

    consuming func attributes(_ attributes: Attributes) {
        var status = stat(attributes)
        fuse_reply_attr(request, &status, lifetime.attributes(attributes))
        measurement.end()
        discard self
    }

    consuming func linkTarget(_ target: String) {
        fuse_reply_readlink(request, target)
        measurement.end()
        discard self
    }

    /// - Returns: Whether the kernel took it; otherwise it never sends the file's RELEASE.
    consuming func opened(
        _ information: inout fuse_file_info, _ completion: WireCompletion.OpenCompletion? = nil
    ) -> Bool {
        let request = request
        let result = WireCompletion.completing(completion) { fuse_reply_open(request, &information) }
        measurement.end()
        discard self
        return result == 0
    }

    /// - Returns: Whether the kernel took it; otherwise it never sends the file's RELEASE.
    consuming func created(
        _ attributes: Attributes, _ information: inout fuse_file_info, _ completion: WireCompletion.OpenCompletion?
    ) -> Bool {
        let request = request
        let fileSystem = session.fileSystem
        var entry = fuse_entry_param(fileSystem.referenced(attributes), lifetime)
        let result = WireCompletion.completing(completion) { fuse_reply_create(request, &entry, &information) }
        if result != 0 { fileSystem.forget(attributes.inode) }
        measurement.end()
        discard self
        return result == 0
    }

    /// Entries of a directory.
    consuming func entries(_ page: DirectoryPage) {
        let fileSystem = session.fileSystem
        let bytes = page.bytes
        let result = fuse_reply_buf(request, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        // The caller was interrupted, so the kernel did not take the references.
        if result != 0 { for inode in page.referenced { fileSystem.forget(inode) } }
        measurement.end()
        discard self
    }

    consuming func bytes(_ bytes: UnsafeRawBufferPointer) {
        fuse_reply_buf(request, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        measurement.end()
        discard self
    }

    consuming func bytes(_ bytes: [UInt8]) {
        let request = request
        bytes.withUnsafeBytes {
            _ = fuse_reply_buf(request, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
        }
        measurement.end()
        discard self
    }

    consuming func bytes(_ source: ByteSource) {
        measurement.read(source.byteCount)
        switch source {
        case .memory(let bytes):
            let request = request
            bytes.withUnsafeBytes {
                _ = fuse_reply_buf(request, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
            }
            measurement.end()
            discard self
        case .file(let file) where file.byteCount == 0:
            fuse_reply_buf(request, nil, 0)
            measurement.end()
            discard self
        case .file(let file) where file.byteCount > ReplyBuffers.pipeByteCount: copied(file)
        case .file(let file): moved(file)
        }
    }

    /// Bytes of a local file; libfuse moves them in the kernel where that is faster.
    private consuming func moved(_ file: FileBytes) {
        var vector = fuse_bufvec()
        vector.count = 1
        vector.buf.size = file.byteCount
        vector.buf.flags = fuse_buf_flags(FUSE_BUF_IS_FD.rawValue | FUSE_BUF_FD_SEEK.rawValue)
        vector.buf.fd = file.fileNumber
        vector.buf.pos = off_t(file.offset)
        withExtendedLifetime(file) {
            _ = fuse_reply_data(request, &vector, FUSE_BUF_SPLICE_MOVE)
        }
        measurement.end()
        discard self
    }

    /// Replies too long for a pipe are copied, through reused buffers.
    private consuming func copied(_ file: FileBytes) {
        let request = request
        ReplyBuffers.shared.with(byteCount: file.byteCount) { buffer in
            do throws(FileError) {
                let count = try file.read(into: buffer)
                _ = fuse_reply_buf(request, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), count)
            } catch {
                _ = fuse_reply_err(request, error.errno)
            }
        }
        measurement.end()
        discard self
    }

    consuming func written(_ byteCount: Int) {
        fuse_reply_write(request, byteCount)
        measurement.wrote(byteCount)
        measurement.end()
        discard self
    }

    /// The size of an extended attribute or of the list of their names.
    consuming func attributeSize(_ byteCount: Int) {
        fuse_reply_xattr(request, byteCount)
        measurement.end()
        discard self
    }

    consuming func offset(_ offset: Int64) {
        fuse_reply_lseek(request, off_t(offset))
        measurement.end()
        discard self
    }

    consuming func lock(_ lock: inout flock) {
        fuse_reply_lock(request, &lock)
        measurement.end()
        discard self
    }

    consuming func statistics(_ statistics: inout statvfs) {
        fuse_reply_statfs(request, &statistics)
        measurement.end()
        discard self
    }
}

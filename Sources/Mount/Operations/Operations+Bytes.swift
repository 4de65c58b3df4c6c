import CFuse
import FileSystem
import Glibc
import Metering
import Model

/// read(2), write(2), fallocate(2), lseek(2), copy_file_range(2).
extension Operations {
    static func addBytes(to table: inout fuse_lowlevel_ops) {
        table.read = { request, _, byteCount, offset, information in
            let request = Request(request, .read)
            request.answer { () throws(FileError) in
                try request.fileSystem.read(
                    HandleID(information), offset: Int64(offset), byteCount: byteCount, by: request.caller)
            } with: { reply, source in
                reply.bytes(source)
            }
        }
        table.write = { request, _, bytes, byteCount, offset, information in
            let request = Request(request, .write)
            request.answer { () throws(FileError) in
                try request.fileSystem.write(
                    HandleID(information), offset: Int64(offset),
                    bytes: UnsafeRawBufferPointer(start: bytes, count: byteCount),
                    fromPageCache: information!.pointee.writepage != 0,
                    sync: WriteSync(flags: information!.pointee.flags), by: request.caller)
            } with: { reply, byteCount in
                reply.written(byteCount)
            }
        }
        table.fallocate = { request, _, mode, offset, byteCount, information in
            let request = Request(request, .fallocate)
            request.answer { () throws(FileError) in
                try request.fileSystem.allocate(
                    HandleID(information), mode: mode, offset: Int64(offset), byteCount: Int64(byteCount),
                    by: request.caller)
            } with: { reply, _ in
                reply.done()
            }
        }
        table.lseek = { request, _, offset, whence, information in
            let request = Request(request, .lseek)
            request.answer { () throws(FileError) in
                try request.fileSystem.seek(HandleID(information), offset: Int64(offset), whence: whence)
            } with: { reply, offset in
                reply.offset(offset)
            }
        }
        table.copy_file_range = { request, _, offset, from, _, newOffset, to, byteCount, _ in
            let request = Request(request, .copyFileRange)
            request.answer { () throws(FileError) in
                try request.fileSystem.copyRange(
                    from: HandleID(from), offset: Int64(offset), to: HandleID(to), offset: Int64(newOffset),
                    byteCount: min(Int(clamping: byteCount), Operations.copyLimit), by: request.caller)
            } with: { reply, byteCount in
                reply.written(byteCount)
            }
        }
    }

    /// The most bytes that one copy_file_range(2) copies: libfuse replies with a count of 32 bits, so that 4 GiB would be
    /// none. In whole pages, as the kernel itself cuts a request that has no more bits.
    fileprivate static let copyLimit = Int(UInt32.max) & ~4095
}

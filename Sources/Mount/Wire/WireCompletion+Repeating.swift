import FileSystem
import Glibc
import Model
import Synchronization

/// Requests that come again, as the daemon before was killed when it had read them.
extension WireCompletion {
    /// The number of the request that this thread has read last; `nil` where requests do not come again.
    static var lastRequest: RequestNumber? {
        readRequest.value.map { RequestNumber(rawValue: UInt64(UInt(bitPattern: $0))) }
    }

    private static let readRequest = ThreadPointer()

    /// Reads a request and notes its number. The first one of a daemon that takes the place of another is the kernel's INIT,
    /// which libfuse must see, and which the kernel sends only once.
    func receiveNumbered(_ file: Int32, _ buffer: UnsafeMutableRawPointer?, _ byteCount: Int) -> Int {
        guard let survival, let buffer else { return read(file, buffer, byteCount) }
        if survival.slots.isAdopted, !isSettled.load(ordering: .relaxed) {
            let request = survival.slots.initRequest
            guard request.count <= byteCount else { return 0 }
            UnsafeMutableRawBufferPointer(start: buffer, count: byteCount).copyBytes(from: request)
            return request.count
        }
        Self.populate(buffer, byteCount)
        var result: Int
        repeat { result = read(file, buffer, byteCount) } while result > 0 && refuses(buffer, result, file)
        guard result >= Layout.requestBody, isResending.load(ordering: .relaxed) else { return result }
        let unique = buffer.loadUnaligned(fromByteOffset: Layout.requestUnique, as: UInt64.self)
        Self.readRequest.value = UnsafeRawPointer(bitPattern: UInt(unique))
        return result
    }

    /// The buffer of this thread, once it has its memory.
    private static let populated = ThreadPointer()

    private static let pageByteCount = 4096

    /// Gives a buffer all its memory. A request for which the kernel has to find memory fails with EIO if the thread that
    /// reads it is killed meanwhile: it finds none for one that is dying. Related: `fuse_copy_fill` in Linux, fs/fuse/dev.c.
    private static func populate(_ buffer: UnsafeMutableRawPointer, _ byteCount: Int) {
        guard populated.value != UnsafeRawPointer(buffer) else { return }
        for offset in stride(from: 0, to: byteCount, by: pageByteCount) {
            buffer.storeBytes(of: 0, toByteOffset: offset, as: UInt8.self)
        }
        populated.value = UnsafeRawPointer(buffer)
    }

    /// Requests without an answer: FORGET, INTERRUPT, BATCH_FORGET.
    private static let unanswered: Set<UInt32> = [2, 36, 42]

    /// Refuses a request of the process that announced changes for the daemon before: for this one it is any program, and
    /// its calls would be carried out.
    private func refuses(_ request: UnsafeMutableRawPointer, _ byteCount: Int, _ file: Int32) -> Bool {
        guard let helper = survival?.earlierHelper, helper != 0, byteCount >= Layout.requestBody,
            request.loadUnaligned(fromByteOffset: Layout.requestProcess, as: Int32.self) == helper
        else { return false }
        let operation = request.loadUnaligned(fromByteOffset: Layout.requestOperation, as: UInt32.self)
        let unique = request.loadUnaligned(fromByteOffset: Layout.requestUnique, as: UInt64.self)
        guard !Self.unanswered.contains(operation), RequestNumber(rawValue: unique).isRepeated else { return false }
        // fuse_out_header: length, error, unique.
        var reply = (UInt32(Layout.replyHeaderByteCount), -EPERM, unique)
        _ = withUnsafeBytes(of: &reply) { write(file, $0.baseAddress!, $0.count) }
        return true
    }
}

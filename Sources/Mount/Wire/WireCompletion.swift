import CFuse
import CLinux
import FileSystem
import Glibc
import Model
import Synchronization

/// Adds to two replies what libfuse 3.14 cannot send: newer flags of INIT, and pass-through in OPEN and CREATE. And lets it
/// read two requests that it does not know, as ones that it knows.
///
/// It sits between libfuse and `/dev/fuse` (`fuse_session_custom_io`). In INIT it requests only what the kernel
/// offered, so that older kernels see no difference. The numbers are those of `linux/fuse.h`, protocol 7.40.
final class WireCompletion: Sendable {
    /// Capabilities offered by the kernel that libfuse does not know.
    struct Extensions: OptionSet, Sendable {
        let rawValue: UInt64

        /// `FUSE_HANDLE_KILLPRIV_V2`: without it, the kernel queries `security.capability` before every write.
        static let handleKillPrivileges = Extensions(rawValue: 1 << 28)
        /// `FUSE_INIT_EXT`: the flags beyond 32 bits count.
        static let moreFlags = Extensions(rawValue: 1 << 30)
        /// `FUSE_DIRECT_IO_ALLOW_MMAP`
        static let directMapping = Extensions(rawValue: 1 << 36)
        /// `FUSE_PASSTHROUGH`
        static let passthrough = Extensions(rawValue: 1 << 37)
        /// `FUSE_HAS_RESEND`: a request that comes again is marked.
        static let resending = Extensions(rawValue: 1 << 39)
    }

    /// The flags of `fuse_open_out`, with the backing file's number.
    struct OpenCompletion {
        var flags: UInt32
        var backing: Int32

        static let passthrough: UInt32 = 1 << 7
    }

    /// The offsets of the values, in bytes.
    enum Layout {
        // fuse_in_header, then fuse_init_in
        static let requestOperation = 4
        static let requestUnique = 8
        static let requestProcess = 32
        static let requestBody = 40
        static let offeredFlags = requestBody + 12
        static let offeredMoreFlags = requestBody + 16
        static let initRequestByteCount = requestBody + 20
        // fuse_out_header
        static let replyUnique = 8
        static let replyHeaderByteCount = 16
        // fuse_init_out
        static let flags = 12
        static let moreFlags = 32
        static let stackDepth = 36
        static let initReplyByteCount = 64
        // fuse_open_out, from its start
        static let openFlags = 8
        static let backing = 12
        static let openReplyByteCount = 16
    }

    private static let initOperation: UInt32 = 26
    /// `FUSE_TMPFILE` has the form of `FUSE_CREATE`, with the name `/`, which no other request has; `FUSE_COPY_FILE_RANGE_64`
    /// that of `FUSE_COPY_FILE_RANGE`, and its reply has the count in 64 bits, of which libfuse sets the upper half to zero.
    private static let twins: [UInt32: UInt32] = [51: 35, 53: 47]
    private static let lowestTwin: UInt32 = 51
    /// How many file systems may be stacked below this one for pass-through: the backing one.
    private static let stackDepth: UInt32 = 1

    private struct Handshake {
        var unique: UInt64
        var offered: Extensions
    }

    private let wanted: Extensions
    /// What is kept for the next daemon; `nil` where the mount ends with this one.
    let survival: Survival?
    private let handshake = Mutex<Handshake?>(nil)
    /// Set once INIT is answered: from then on requests and replies pass through unread.
    let isSettled = Atomic<Bool>(false)
    /// Whether requests may come again: then their numbers are kept.
    let isResending = Atomic<Bool>(false)

    /// - Parameter wanted: Requested if the kernel offers it.
    init(wanted: Extensions, survival: Survival? = nil) {
        self.wanted = wanted
        self.survival = survival
    }

    /// The negotiated extensions; empty until the kernel's INIT has been read.
    var agreed: Extensions {
        handshake.withLock { handshake in
            guard let handshake, handshake.offered.contains(.moreFlags) else { return [] }
            return handshake.offered.intersection(wanted)
        }
    }

    /// - Parameter connection: The descriptor of the connection; `nil` for the session's own.
    /// - Returns: Whether libfuse uses this from now on; otherwise everything but these extensions works.
    func install(in session: OpaquePointer, connection: Int32? = nil) -> Bool {
        // libfuse falls back to copying when the splice functions are missing.
        var table = fuse_custom_io(
            writev: { file, vector, count, userdata in
                FileSystemSession.wire(of: userdata).send(file, vector, count)
            },
            read: { file, buffer, byteCount, userdata in
                FileSystemSession.wire(of: userdata).receive(file, buffer, byteCount)
            },
            splice_receive: { from, fromOffset, to, toOffset, byteCount, flags, _ in
                CLinux_splice(from, fromOffset, to, toOffset, byteCount, flags)
            },
            splice_send: { from, fromOffset, to, toOffset, byteCount, flags, _ in
                CLinux_splice(from, fromOffset, to, toOffset, byteCount, flags)
            })
        return fuse_session_custom_io(session, &table, connection ?? fuse_session_fd(session)) == 0
    }

    // MARK: INIT

    private func receive(_ file: Int32, _ buffer: UnsafeMutableRawPointer?, _ byteCount: Int) -> Int {
        let result = survival == nil ? read(file, buffer, byteCount) : receiveNumbered(file, buffer, byteCount)
        if !isSettled.load(ordering: .relaxed), let buffer, result >= Layout.initRequestByteCount {
            noteInit(UnsafeRawBufferPointer(start: buffer, count: result))
        }
        if let buffer, result >= Layout.requestBody { Self.translate(buffer + Layout.requestOperation) }
        return result
    }

    /// Gives libfuse a request that it knows instead of one that has the same form.
    private static func translate(_ operation: UnsafeMutableRawPointer) {
        let number = operation.loadUnaligned(as: UInt32.self)
        guard number >= lowestTwin, let twin = twins[number] else { return }
        operation.storeBytes(of: twin, as: UInt32.self)
    }

    private func noteInit(_ request: UnsafeRawBufferPointer) {
        guard request.loadUnaligned(fromByteOffset: Layout.requestOperation, as: UInt32.self) == Self.initOperation
        else {
            return
        }
        let unique = request.loadUnaligned(fromByteOffset: Layout.requestUnique, as: UInt64.self)
        let low = request.loadUnaligned(fromByteOffset: Layout.offeredFlags, as: UInt32.self)
        let high = request.loadUnaligned(fromByteOffset: Layout.offeredMoreFlags, as: UInt32.self)
        survival?.slots.keep(initRequest: request)
        handshake.withLock { handshake in
            handshake = Handshake(unique: unique, offered: Extensions(rawValue: UInt64(high) << 32 | UInt64(low)))
        }
    }

    private func send(_ file: Int32, _ vector: UnsafeMutablePointer<iovec>?, _ count: Int32) -> Int {
        let pieces = UnsafeMutableBufferPointer(start: vector, count: Int(count))
        if !isSettled.load(ordering: .relaxed), completeInit(pieces) { return settle(file, vector, count) }
        Self.completeOpen(pieces)
        if let survival, Self.notifying.value != nil,
            let result = survival.notifications?.write(pieces)
        {
            return result
        }
        return writev(file, vector, count)
    }

    /// Set in the thread that sends nothing but notifications, which may wait.
    private static let notifying = ThreadPointer()

    /// From now on this thread sends nothing but notifications.
    static func beginNotifying() { notifying.value = UnsafeRawPointer(bitPattern: 1) }

    /// Sends a notification that libfuse does not know, from the thread of ``beginNotifying()``.
    func notify(_ bytes: UnsafeRawBufferPointer, _ session: OpaquePointer) {
        if survival?.notifications?.write(bytes) == nil {
            _ = write(fuse_session_fd(session), bytes.baseAddress!, bytes.count)
        }
    }

    /// Sends the reply to INIT, unless the kernel has had one.
    private func settle(_ file: Int32, _ vector: UnsafeMutablePointer<iovec>?, _ count: Int32) -> Int {
        guard let survival else { return writev(file, vector, count) }
        isResending.store(agreed.contains(.resending), ordering: .relaxed)
        if survival.slots.isAdopted {
            return UnsafeMutableBufferPointer(start: vector, count: Int(count)).reduce(0) { $0 + $1.iov_len }
        }
        let result = writev(file, vector, count)
        // Only from here on there is something to go on with.
        if result > 0, isResending.load(ordering: .relaxed) { survival.keep(connection: file) }
        return result
    }

    /// - Returns: Whether it is the reply to INIT.
    private func completeInit(_ pieces: UnsafeMutableBufferPointer<iovec>) -> Bool {
        guard pieces.count == 2, pieces[0].iov_len == Layout.replyHeaderByteCount, let header = pieces[0].iov_base,
            pieces[1].iov_len >= Layout.initReplyByteCount, let body = pieces[1].iov_base
        else { return false }
        let unique = header.loadUnaligned(fromByteOffset: Layout.replyUnique, as: UInt64.self)
        guard handshake.withLock({ $0?.unique == unique }) else { return false }
        isSettled.store(true, ordering: .relaxed)
        let agreed = agreed
        guard !agreed.isEmpty else { return true }
        let added = agreed.union(.moreFlags).rawValue
        body.add(UInt32(truncatingIfNeeded: added), at: Layout.flags)
        body.add(UInt32(truncatingIfNeeded: added >> 32), at: Layout.moreFlags)
        if agreed.contains(.passthrough) {
            body.storeBytes(of: Self.stackDepth, toByteOffset: Layout.stackDepth, as: UInt32.self)
        }
        return true
    }

    // MARK: OPEN and CREATE

    /// The completion of the reply that this thread is about to send. libfuse sends a reply on the calling thread, so
    /// the thread identifies the reply.
    private static let pendingOpen = ThreadPointer()

    /// Completes the one OPEN or CREATE reply that `reply` sends.
    static func completing<Result>(_ completion: OpenCompletion?, _ reply: () -> Result) -> Result {
        guard var completion else { return reply() }
        return withUnsafeMutablePointer(to: &completion) { pointer in
            pendingOpen.value = UnsafeRawPointer(pointer)
            defer { pendingOpen.value = nil }
            return reply()
        }
    }

    private static func completeOpen(_ pieces: UnsafeMutableBufferPointer<iovec>) {
        guard let pointer = pendingOpen.value else { return }
        // `fuse_open_out` is the last part of the replies to both OPEN and CREATE. An error has no second part.
        guard pieces.count == 2, let base = pieces[1].iov_base, pieces[1].iov_len >= Layout.openReplyByteCount else {
            return
        }
        let completion = pointer.load(as: OpenCompletion.self)
        let body = base + (pieces[1].iov_len - Layout.openReplyByteCount)
        body.add(completion.flags, at: Layout.openFlags)
        body.storeBytes(of: completion.backing, toByteOffset: Layout.backing, as: Int32.self)
    }
}

extension UnsafeMutableRawPointer {
    /// Sets further bits in a word.
    fileprivate func add(_ bits: UInt32, at offset: Int) {
        storeBytes(
            of: loadUnaligned(fromByteOffset: offset, as: UInt32.self) | bits, toByteOffset: offset, as: UInt32.self)
    }
}

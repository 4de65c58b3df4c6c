import Synchronization

/// Memory for long replies that must be copied: reused, since fresh memory costs a page fault every 4 KiB.
final class ReplyBuffers: Sendable {
    /// The longest reply sent through a pipe, together with libfuse's own pages: an unprivileged pipe holds 1 MiB.
    ///
    /// Related: pipe(7), `/proc/sys/fs/pipe-max-size`.
    static let pipeByteCount = (1 << 20) - (16 << 10)
    /// How many buffers are kept: 4 MiB with requests of 1 MiB.
    static let keptCount = 4

    static let shared = ReplyBuffers()

    /// An unused buffer.
    ///
    /// Unchecked, since the compiler cannot check the ownership of a pointer. The guard: only the caller that took a
    /// buffer out of `free` uses it.
    private struct Buffer: @unchecked Sendable {
        let memory: UnsafeMutableRawBufferPointer
    }

    private let free = Mutex<[Buffer]>([])

    func with(byteCount: Int, _ body: (UnsafeMutableRawBufferPointer) -> Void) {
        let buffer = free.withLock { free in
            free.firstIndex { $0.memory.count >= byteCount }.map { free.remove(at: $0) }
        }
        let taken = buffer ?? Buffer(memory: .allocate(byteCount: byteCount, alignment: 4096))
        body(UnsafeMutableRawBufferPointer(rebasing: taken.memory[..<byteCount]))
        let isKept = free.withLock { free in
            guard free.count < Self.keptCount else { return false }
            free.append(taken)
            return true
        }
        if !isKept { taken.memory.deallocate() }
    }
}

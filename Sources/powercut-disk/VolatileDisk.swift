import CFuse
import Glibc
import Synchronization

/// A disk with a volatile write cache, kept in a file: what was flushed is in the file, what was written is read back
/// from the cache.
///
///     write → cache ── flush ──→ file
///               └───── power ──→ kept, lost or torn, each write by itself; from then on every call fails
final class VolatileDisk: Sendable {
    /// How much the cache holds; beyond, it writes the older half out, as a disk does.
    static let cacheBytes = 128 << 20

    private struct Write {
        var offset: Int
        var bytes: [UInt8]
    }

    /// Both views of the file. Unchecked, since pointers are not Sendable: they are only used under the lock.
    private struct Views: @unchecked Sendable {
        /// What survives.
        let stable: UnsafeMutableRawPointer
        /// What is read: pages that were written are copies, all others are the file's.
        let current: UnsafeMutableRawPointer
    }

    private struct State {
        var cache: [Write] = []
        var cachedBytes = 0
        var writeCount = 0
        var flushCount = 0
        var isDead = false
    }

    let byteCount: Int
    private let views: Views
    private let state = Mutex(State())

    /// - Throws: ``DiskError`` when the file cannot be opened or mapped.
    init(image path: String) throws(DiskError) {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw DiskError("open \(path)", errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw DiskError("stat \(path)", errno) }
        byteCount = Int(status.st_size)
        views = Views(
            stable: try Self.map(descriptor, byteCount, MAP_SHARED),
            current: try Self.map(descriptor, byteCount, MAP_PRIVATE | Self.noReserve))
    }

    /// `MAP_NORESERVE`, which a Swift import of Glibc hides.
    private static let noReserve: Int32 = 0x4000

    private static func map(
        _ descriptor: Int32, _ byteCount: Int, _ flags: Int32
    ) throws(DiskError) -> UnsafeMutableRawPointer {
        guard let address = mmap(nil, byteCount, PROT_READ | PROT_WRITE, flags, descriptor, 0), address != MAP_FAILED
        else { throw DiskError("map the image", errno) }
        return address
    }

    /// - Returns: An error number, or 0; `reply` has the bytes before others may change them.
    func read(_ offset: Int, _ count: Int, reply: (UnsafeRawBufferPointer) -> Void) -> Int32 {
        state.withLock { state in
            if state.isDead { return EIO }
            let range = max(0, min(offset, byteCount))..<max(0, min(offset + count, byteCount))
            reply(UnsafeRawBufferPointer(start: views.current + range.lowerBound, count: range.count))
            return 0
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        state.withLock { state in
            if state.isDead { return EIO }
            guard offset >= 0, offset + bytes.count <= byteCount, let base = bytes.baseAddress else { return ENOSPC }
            memcpy(views.current + offset, base, bytes.count)
            state.cache.append(Write(offset: offset, bytes: Array(bytes)))
            state.cachedBytes += bytes.count
            state.writeCount += 1
            if state.cachedBytes > Self.cacheBytes { writeOut(&state, state.cache.count / 2) }
            return 0
        }
    }

    func flush() -> Int32 {
        state.withLock { state in
            if state.isDead { return EIO }
            writeOut(&state, state.cache.count)
            state.flushCount += 1
            return 0
        }
    }

    /// The power goes.
    /// - Returns: What became of the writes, for people; `nil` when it had gone before.
    func cut(seed: UInt64) -> String? {
        state.withLock { state in
            guard !state.isDead else { return nil }
            state.isDead = true
            var cut = Cut(seed: seed, count: state.cache.count)
            var kept = 0
            var torn = 0
            for (index, write) in state.cache.enumerated() {
                switch cut.fate(of: index, byteCount: write.bytes.count) {
                case .kept:
                    put(write, 0..<write.bytes.count)
                    kept += 1
                case .torn(let sectors):
                    for sector in sectors {
                        put(write, sector * Cut.sectorBytes..<(sector + 1) * Cut.sectorBytes)
                    }
                    torn += 1
                case .lost: break
                }
            }
            defer { state.cache = [] }
            return "cut: \(state.cache.count) writes in the cache, \(kept) kept, \(torn) torn; "
                + "\(state.writeCount) writes and \(state.flushCount) flushes in all"
        }
    }

    private func writeOut(_ state: inout State, _ count: Int) {
        for write in state.cache.prefix(count) {
            put(write, 0..<write.bytes.count)
            state.cachedBytes -= write.bytes.count
        }
        state.cache.removeFirst(count)
    }

    private func put(_ write: Write, _ range: Range<Int>) {
        write.bytes.withUnsafeBytes { bytes in
            if let base = bytes.baseAddress {
                memcpy(views.stable + write.offset + range.lowerBound, base + range.lowerBound, range.count)
            }
        }
    }
}

/// A system call that failed.
struct DiskError: Error, CustomStringConvertible {
    let description: String

    init(_ call: String, _ number: Int32) { description = "\(call): \(String(cString: strerror(number)))" }
}

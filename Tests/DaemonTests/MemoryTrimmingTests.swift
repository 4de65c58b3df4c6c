import Testing

@testable import Daemon

@Suite struct MemoryTrimmingTests {
    @Test(arguments: [(0, 0, false), (8 << 20, 0, true), ((8 << 20) - 1, 0, false), (100 << 20, 95 << 20, false)])
    func `memory is trimmed when its use has grown by 8 MiB since the last trim`(
        byteCount: Int, last: Int, isDue: Bool
    ) {
        #expect(MemoryTrimming.isDue(byteCount, since: last) == isDue)
    }

    /// In a process of its own: what other tests need and free meanwhile does not count.
    @Test func `the memory use of the process is measured, and trimming returns freed memory`() async {
        await #expect(processExitsWith: .success) {
            let before = try #require(MemoryTrimming.ownByteCount())
            // Small allocations: the last one keeps the C library from returning the memory before it by itself.
            let pieces = (0..<400_000).map { _ in UnsafeMutableRawPointer.allocate(byteCount: 200, alignment: 8) }
            for piece in pieces { piece.initializeMemory(as: UInt8.self, repeating: 1, count: 200) }
            let full = try #require(MemoryTrimming.ownByteCount())
            #expect(full - before > 64 << 20)
            for piece in pieces.dropLast() { piece.deallocate() }
            MemoryArenas.trim()
            let after = try #require(MemoryTrimming.ownByteCount())
            #expect(full - after > 48 << 20)
            pieces.last?.deallocate()
        }
    }
}

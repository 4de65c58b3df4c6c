import FileSystem
import Glibc
import Remote
import TestStores
import Testing

/// The kernel sends the release of a file after close(2) has returned, so the next lock request may arrive first.
@Suite(.virtualTime) struct LockOfClosedFileTests {
    /// Releases one file description while another one requests the lock without waiting.
    private func race(
        lock: (FileSystem, HandleID) async throws -> Void,
        relock: @escaping @Sendable (FileSystem, HandleID) throws -> Answer<Void>
    ) async throws {
        let device = try await TestDevice.start(on: MemoryStore(), name: "A")
        try await device.write("bytes", to: "f")
        let fileSystem = device.fileSystem
        for _ in 0..<400 {
            let first = try await device.open("f", O_RDWR)
            let second = try await device.open("f", O_RDWR)
            try await lock(fileSystem, first)
            try fileSystem.flush(first, lockOwner: 1, by: TestDevice.caller)
            async let released: Void = fileSystem.release(first, flockOwner: 7, by: TestDevice.caller)
            try await device.value(relock(fileSystem, second))
            await released
            try await device.close(second)
        }
        try await device.close()
    }

    private static let whole = RecordLockRequest(type: .exclusive, start: 0, end: .max, process: 1)

    @Test func `a record lock of a closed file description never blocks the next lock`() async throws {
        try await race { fileSystem, handle in
            _ = try fileSystem.lockRequests.recordLock(
                handle, lock: Self.whole, owner: 11, wait: false, by: TestDevice.caller)
        } relock: { fileSystem, handle in
            try fileSystem.lockRequests.recordLock(
                handle, lock: Self.whole, owner: 12, wait: false, by: TestDevice.caller)
        }
    }

    @Test func `a flock lock of a closed file description never blocks the next lock`() async throws {
        try await race { fileSystem, handle in
            _ = try fileSystem.lockRequests.flock(handle, operation: .exclusive, wait: false, by: TestDevice.caller)
        } relock: { fileSystem, handle in
            try fileSystem.lockRequests.flock(handle, operation: .exclusive, wait: false, by: TestDevice.caller)
        }
    }
}

import Control
import FileSystem
import Foundation
import Glibc
import Model
import TestStores
import Testing

/// A disk that is smaller than the container: with a limit, files are evicted before a reader or a writer fails.
@Suite(.virtualTime, .serialized, .timeLimit(.minutes(5)), .enabled(if: getuid() == 0, "only root can mount a disk"))
struct FullDiskTests {
    private static let fileByteCount = 3 << 20
    private static let fileCount = 18

    /// - Parameter body: Takes a device whose state is on a disk of 48 MiB, in a container of 54 MiB.
    private func withSmallDisk(
        _ limits: CacheLimits, _ body: (TestDevice) async throws -> Void
    ) async throws {
        let disk = URL.temporaryDirectory.appending(path: "full-\(UUID())").path
        #expect(mkdir(disk, 0o700) == 0)
        defer { rmdir(disk) }
        try #require(Glibc.mount("tmpfs", disk, "tmpfs", 0, "size=48m,mode=700") == 0)
        defer { umount2(disk, 2) }
        let store = MemoryStore()
        let a = try await TestDevice.start(on: store, name: "A")
        for number in 0..<Self.fileCount {
            let text = String(
                repeating: String(UnicodeScalar(UInt8(ascii: "A") + UInt8(number))), count: Self.fileByteCount)
            try await a.write(text, to: "f\(number)")
        }
        try await a.control.sync.sync(wait: true)
        var options = FileSystemOptions()
        options.cacheLimits = limits
        let b = try await TestDevice.start(on: store, name: "B", state: "\(disk)/state", options: options)
        try await converge(b)
        try await body(b)
        try await b.close()
        try await a.close()
    }

    private func readAll(on device: TestDevice) async throws {
        for number in 0..<Self.fileCount {
            let handle = try await device.open("f\(number)", O_RDONLY)
            let letter = UInt8(ascii: "A") + UInt8(number)
            for offset in stride(from: 0, to: Self.fileByteCount, by: 1 << 20) {
                let bytes = try await device.bytes(handle, at: Int64(offset), byteCount: 1 << 20)
                #expect(bytes.count == 1 << 20 && bytes.allSatisfy { $0 == letter })
            }
            try await device.setAttribute("download", "wait", of: "f\(number)")
            try await device.close(handle)
        }
    }

    @Test(arguments: [
        CacheLimits(byteLimit: 40 << 20), CacheLimits(freeSpace: .bytes(8 << 20)), CacheLimits(byteLimit: 1 << 40),
    ])
    func `a walk through more than the disk holds does not fail`(_ limits: CacheLimits) async throws {
        try await withSmallDisk(limits) { device in try await readAll(on: device) }
    }

    @Test func `a write to a disk full of downloads evicts some`() async throws {
        try await withSmallDisk(CacheLimits(byteLimit: 1 << 40)) { device in
            try await readAll(on: device)
            let handle = try await device.open("new", O_RDWR | O_CREAT)
            let text = String(repeating: "n", count: 1 << 20)
            for offset in 0..<12 { try await device.write(text, to: handle, at: Int64(offset) << 20) }
            try await device.close(handle)
            try await converge(device)
        }
    }

    @Test func `without a limit nothing is evicted unasked`() async throws {
        try await withSmallDisk(CacheLimits()) { device in
            await #expect {
                try await readAll(on: device)
            } throws: {
                ($0 as? FileError)?.code == .diskFull
            }
        }
    }
}

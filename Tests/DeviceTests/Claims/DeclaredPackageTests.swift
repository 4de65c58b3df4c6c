import FileSystem
import Glibc
import Model
import Synchronization
import TestStores
import Testing

/// Directories that sessions declare to be file packages.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct DeclaredPackageTests {
    private final class Granted: Sendable {
        private let claims = Mutex<Set<UInt64>>([])

        func receive(_ event: SessionEvent) {
            if case .granted(let claim, _, _) = event { _ = claims.withLock { $0.insert(claim) } }
        }

        func has(_ claim: UInt64) -> Bool { claims.withLock { $0.contains(claim) } }
    }

    private func session(on device: TestDevice, _ granted: Granted) throws -> SessionID {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        return try device.fileSystem.claims.open(process: getpid(), descriptor: ends[0]) {
            granted.receive($0)
        } whenGone: {
        }
    }

    /// Whether a claim for writing one file of a directory holds off one for writing another file of it.
    private func isOnePackage(_ name: String, on device: TestDevice) async throws -> Bool {
        let (first, second) = (Granted(), Granted())
        let holder = try session(on: device, first)
        let other = try session(on: device, second)
        defer {
            device.fileSystem.claims.close(other)
            device.fileSystem.claims.close(holder)
        }
        try device.fileSystem.claims.request(
            ClaimRequest(claim: 1, items: [.init("\(name)/a", writing: "plain")]), from: holder)
        #expect(try await holds { first.has(1) })
        try device.fileSystem.claims.request(
            ClaimRequest(claim: 1, items: [.init("\(name)/b", writing: "plain")]), from: other)
        return try await !holds(within: .milliseconds(500)) { second.has(1) }
    }

    @Test func `a directory is a package while a session that declares its extension lasts`() async throws {
        let device = try await TestDevice.start(on: MemoryStore(), name: "desk")
        for name in ["P.csdoc", "Q.rtfd", "R.d"] {
            try device.makeDirectory(name)
            for file in ["a", "b"] { try await device.write("x", to: "\(name)/\(file)") }
        }
        #expect(try await isOnePackage("Q.rtfd", on: device))
        #expect(try await !isOnePackage("P.csdoc", on: device))
        let declaring = try session(on: device, Granted())
        try device.fileSystem.claims.declarePackages(["CSDoc"], of: declaring)
        #expect(try await isOnePackage("P.csdoc", on: device))
        #expect(try await !isOnePackage("R.d", on: device))
        try device.fileSystem.claims.declarePackages(["d"], of: declaring)
        #expect(try await !isOnePackage("P.csdoc", on: device))
        #expect(try await isOnePackage("R.d", on: device))
        device.fileSystem.claims.close(declaring)
        #expect(try await !isOnePackage("R.d", on: device))
        try await device.close()
    }

    @Test(arguments: [
        [""], [".csdoc"], ["a/b"], [String(repeating: "x", count: 65)], Array(repeating: "x", count: 257),
    ])
    func `unusable extensions are refused`(extensions: [String]) async throws {
        let device = try await TestDevice.start(on: MemoryStore(), name: "desk")
        let declaring = try session(on: device, Granted())
        let error = #expect(throws: FileError.self) {
            try device.fileSystem.claims.declarePackages(extensions, of: declaring)
        }
        #expect(error?.code == .invalid)
        device.fileSystem.claims.close(declaring)
        try await device.close()
    }
}

import ControlAPI
import ControlClient
import Foundation
import Glibc
import Linux
import Model

/// The bytes of a version of a file, written where a user wants them.
struct VersionFile {
    let place: MountedPath
    let id: String

    /// How many bytes are copied to standard output at a time.
    private static let pieceByteCount = 1 << 20

    /// Writes the bytes to a file, all or nothing; `-` is standard output.
    ///
    /// - Throws: ``CommandFailure`` with `cannotCreate` when the file exists and is not to be replaced.
    func write(to file: String, replacing: Bool) throws {
        if file == "-" { return try withTemporaryFile(Self.copyToOutput) }
        guard replacing || access(file, F_OK) != 0 else { throw Self.exists(file) }
        let part = PartFile(of: file)
        defer { part.remove() }
        try fetch(into: part.path)
        guard try part.move(replacing: replacing) else { throw Self.exists(file) }
    }

    private static func exists(_ file: String) -> CommandFailure {
        CommandFailure(.cannotCreate, "\(file) exists; to replace it, add --force")
    }

    /// Runs `diff -u` on the version and the current bytes.
    ///
    /// - Returns: Its exit status.
    func difference() async throws -> Int32 {
        // Before any descriptor is opened.
        let inheritance = Inheritance()
        let directory = try PrivateDirectory()
        defer { directory.remove() }
        let version = "\(directory.path)/version"
        try fetch(into: version)
        let child = try ChildProcess(
            [
                "diff", "-u", "--label", "\(place.given) (version \(id))", "--label", place.given, "--", version,
                "\(place.mount.mountpoint)/\(place.path)",
            ], environment: [:], inheritance: inheritance)
        return await child.status()
    }

    private func fetch(into file: String) throws {
        let client = BlockingControlClient(socketPath: try MountedPath.socket(of: place.mount).path)
        do throws(ControlError) {
            try client.send(VersionContentRequest(path: place.path, id: id), into: file)
        } catch {
            guard case .refused(let fault) = error, fault.code == .notFound else { throw error }
            throw CommandFailure(.notFound, "\(fault.detail); for the ids, run: dewpoint versions \(place.given)")
        }
    }

    private func withTemporaryFile(_ body: (String) throws -> Void) throws {
        let directory = try PrivateDirectory()
        defer { directory.remove() }
        let file = "\(directory.path)/version"
        try fetch(into: file)
        try body(file)
    }

    /// A directory that only this user can read, until it is removed or a signal ends the program.
    private struct PrivateDirectory {
        let path: String
        private let cleanup: SignalCleanup

        init() throws {
            let path = FileManager.default.temporaryDirectory.appending(path: "dewpoint-\(UUID().uuidString)").path
            try SystemCalls.check("mkdir", as: "cannot create \(path)") { mkdir(path, 0o700) }
            self.path = path
            cleanup = SignalCleanup { try? FileManager.default.removeItem(atPath: path) }
        }

        func remove() {
            try? FileManager.default.removeItem(atPath: path)
            cleanup.end()
        }
    }

    private static func copyToOutput(_ file: String) throws {
        let handle = try FileHandle(forReadingFrom: URL(filePath: file))
        defer { try? handle.close() }
        while let bytes = try handle.read(upToCount: pieceByteCount), !bytes.isEmpty {
            do {
                try FileHandle.standardOutput.write(contentsOf: bytes)
            } catch {
                throw CommandFailure(.failed, "cannot write to standard output: \(error.localizedDescription)")
            }
        }
    }
}

import FileSystem
import Foundation
import Logging
package import Model
import Sync
import Transfer

/// Operations on a container without a mount and without a permanent state directory: for ``RemoteContainer``, as
/// opened.
package struct TemporarySession: Sendable {
    private let remote: RemoteContainer
    private let deviceName: String
    private let notify: @Sendable (TransferProblem) -> Void

    /// - Parameters:
    ///   - deviceName: The name of the visiting device, for other devices to see.
    ///   - unlocking: For an encrypted container in which no state of this user is enrolled.
    ///   - notify: Called, on any thread, with items that are left out.
    /// - Throws: ``DaemonError``.
    package init(
        _ location: ContainerLocation, deviceName: String, unlocking: Unlocking,
        notify: @escaping @Sendable (TransferProblem) -> Void
    ) async throws(DaemonError) {
        remote = try await RemoteContainer.open(location, unlocking: unlocking)
        self.deviceName = deviceName
        self.notify = notify
    }

    /// For a container that is open.
    init(_ remote: RemoteContainer, deviceName: String) {
        self.remote = remote
        self.deviceName = deviceName
        notify = { _ in }
    }

    /// Looks whether the container has what its files need, without reading their bytes.
    ///
    /// - Returns: What is missing, in sentences.
    func check() async throws(FileError) -> [String] {
        try await visiting { scratch throws(FileError) in try await scratch.check() }
    }

    /// Rebuilds the container's tree in a new or empty directory.
    ///
    /// - Throws: ``FileError``.
    package func export(to path: String) async throws(FileError) -> TransferReport {
        try await visiting { scratch throws(FileError) in
            try await Export(scratch, notify: notify).run(into: path)
        }
    }

    /// Uploads the contents of a directory.
    ///
    /// - Parameters:
    ///   - destination: The target directory in the container; empty for the root.
    ///   - isContinued: Whether items that exist already as they should be are skipped.
    /// - Throws: ``FileError``.
    package func importTree(
        _ path: String, into destination: String, isContinued: Bool
    ) async throws(FileError) -> TransferReport {
        try await visiting { scratch throws(FileError) in
            var run = try Import(scratch, into: destination, isContinued: isContinued, notify: notify)
            return try await run.run(from: path)
        }
    }

    /// Uploads what is new or changed in a directory of a remote of rclone; may be repeated.
    ///
    /// - Parameters:
    ///   - destination: The target directory in the container; empty for the root.
    ///   - isDryRun: Whether nothing is fetched and sent, and the report says what would be.
    /// - Throws: ``FileError``.
    package func importRemote(
        _ remote: RcloneRemote, into destination: String, isDryRun: Bool, progress: TransferProgress
    ) async throws(FileError) -> TransferReport {
        try await visiting { scratch throws(FileError) in
            var run = try RcloneImport(
                scratch, from: remote, into: destination, isDryRun: isDryRun, progress: progress, notify: notify)
            return try await run.run()
        }
    }

    /// Makes items of the objects below `s3://BUCKET/PREFIX`, without copying them; otherwise like
    /// ``importTree(_:into:isContinued:)``.
    ///
    /// - Throws: ``FileError``; ``DaemonError`` with `usage` for a place from which objects cannot be adopted.
    package func adopt(
        _ url: String, into destination: String, isContinued: Bool
    ) async throws -> TransferReport {
        let prefix = try remote.location.neighbourPrefix(url)
        return try await visiting { scratch throws(FileError) in
            var run = try Adoption(
                scratch, prefix: prefix, into: destination, isContinued: isContinued, notify: notify)
            return try await run.run()
        }
    }

    private func visiting<Value>(
        _ body: (ScratchReplica) async throws(FileError) -> Value
    ) async throws(FileError) -> Value {
        let directory = Self.scratchDirectory
        do throws(TrustedPath.Problem) {
            try TrustedPath(path: directory).check()
        } catch {
            throw FileError(
                .notPermitted,
                "a scratch index in \(directory) could be changed by others: \(error.directory) \(error.sentence); set TMPDIR to a "
                    + "directory that you own")
        }
        let scratch = try ScratchReplica(
            container: remote.container, remote: remote.url, deviceName: deviceName, scratch: directory,
            environment: .system, logger: DaemonService.logger("container", level: .error))
        defer { scratch.leave() }
        return try await body(scratch)
    }

    /// Not `/tmp`, which is often in memory, unless the user chose it.
    static var scratchDirectory: String {
        let chosen = ProcessInfo.processInfo.environment["TMPDIR"] ?? ""
        let path = ItemPath(chosen).isAbsolute ? chosen : "/var/tmp"
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}

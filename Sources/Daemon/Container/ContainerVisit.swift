import FileSystem
import Foundation
import Logging
package import Model
import Sync
import Transfer

/// What is done with a container without a mount, and without a state that stays: for ``RemoteContainer`` as it is opened.
package struct ContainerVisit: Sendable {
    private let remote: RemoteContainer
    private let deviceName: String
    private let notify: @Sendable (TransferProblem) -> Void

    /// - Parameters:
    ///   - deviceName: The name of the device that visits, for other devices to see.
    ///   - notify: Called, on any thread, with what is left out.
    /// - Throws: ``DaemonError``.
    package init(
        _ location: ContainerLocation, deviceName: String, notify: @escaping @Sendable (TransferProblem) -> Void
    ) async throws(DaemonError) {
        remote = try await RemoteContainer.open(location)
        self.deviceName = deviceName
        self.notify = notify
    }

    /// Rebuilds the container's tree in a new or empty directory.
    ///
    /// - Throws: ``FileError``.
    package func export(to path: String) async throws(FileError) -> TransferReport {
        try await visiting { visitor throws(FileError) in
            try await Export(visitor, notify: notify).run(into: path)
        }
    }

    /// Uploads what is in a directory.
    ///
    /// - Parameters:
    ///   - destination: The directory of the container that it goes into; empty for the top.
    ///   - isContinued: Whether what is there already as it should be is passed over.
    /// - Throws: ``FileError``.
    package func importTree(
        _ path: String, into destination: String, isContinued: Bool
    ) async throws(FileError) -> TransferReport {
        try await visiting { visitor throws(FileError) in
            var run = try Import(visitor, into: destination, isContinued: isContinued, notify: notify)
            return try await run.run(from: path)
        }
    }

    /// Makes the objects below `s3://BUCKET/PREFIX` items, without copying them; otherwise as ``importTree(_:into:isContinued:)``.
    ///
    /// - Throws: ``FileError``; ``DaemonError`` with `usage` for a place from which nothing can be adopted.
    package func adopt(
        _ url: String, into destination: String, isContinued: Bool
    ) async throws -> TransferReport {
        let prefix = try remote.location.neighbourPrefix(url)
        return try await visiting { visitor throws(FileError) in
            var run = try Adoption(
                visitor, prefix: prefix, into: destination, isContinued: isContinued, notify: notify)
            return try await run.run()
        }
    }

    private func visiting<Value>(
        _ body: (ScratchReplica) async throws(FileError) -> Value
    ) async throws(FileError) -> Value {
        let scratch = Self.scratch
        do throws(TrustedPath.Problem) {
            try TrustedPath(path: scratch).check()
        } catch {
            throw FileError(
                .notPermitted,
                "a scratch index in \(scratch) could be changed by others: \(error.directory) \(error.sentence); set TMPDIR to a "
                    + "directory of yours")
        }
        let visitor = try ScratchReplica(
            container: remote.container, remote: remote.url, deviceName: deviceName, scratch: scratch,
            environment: .system, logger: DaemonService.logger("container", level: .error))
        defer { visitor.leave() }
        return try await body(visitor)
    }

    /// Not `/tmp`, which is often in memory, unless the user says so.
    private static var scratch: String {
        let chosen = ProcessInfo.processInfo.environment["TMPDIR"] ?? ""
        let path = chosen.hasPrefix("/") ? chosen : "/var/tmp"
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}

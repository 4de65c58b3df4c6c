import Engine
import Foundation
import Logging
package import Model

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

    private func visiting<Value>(
        _ body: (Visitor) async throws(FileError) -> Value
    ) async throws(FileError) -> Value {
        let visitor = try Visitor(
            container: remote.container, remote: remote.url, deviceName: deviceName, scratch: Self.scratch,
            environment: .system, logger: DaemonService.logger("container", level: .error))
        defer { visitor.leave() }
        return try await body(visitor)
    }

    /// Not `/tmp`, which is often in memory, unless the user says so.
    private static var scratch: String {
        let chosen = ProcessInfo.processInfo.environment["TMPDIR"] ?? ""
        return chosen.hasPrefix("/") ? chosen : "/var/tmp"
    }
}

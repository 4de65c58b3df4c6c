package import Foundation
package import Sealing

/// Asks a person for what opens an encrypted container; only when this device cannot open it by itself.
package struct Unlocking: Sendable {
    let ask: @Sendable (_ url: String) async throws(DaemonError) -> PersonalSecret
    /// Whether a plain container is refused: somebody may have put it in the place of an encrypted one.
    let isExpected: Bool

    package init(
        isExpected: Bool = false,
        _ ask: @escaping @Sendable (_ url: String) async throws(DaemonError) -> PersonalSecret
    ) {
        self.isExpected = isExpected
        self.ask = ask
    }

    /// Where nobody can be asked.
    package static let refused = Unlocking { url throws(DaemonError) in
        throw DaemonError(
            .denied,
            "the container at \(url) is encrypted, and this device is not enrolled; mount it once with the passphrase")
    }
}

/// The keyring of an encrypted container, for the commands that show and change it.
package struct ContainerKeys: Sendable {
    private var container: UnlockedContainer
    private let location: ContainerLocation
    private let state: StateDirectory?

    /// - Parameter state: That of this device; the new versions are kept there.
    /// - Throws: ``DaemonError`` with `usage` when the container is not encrypted.
    package init(
        at location: ContainerLocation, state: StateDirectory?, unlocking: Unlocking
    ) async throws(DaemonError) {
        let remote = try await RemoteContainer.open(location, state: state, unlocking: unlocking)
        guard let unlocked = remote.unlocked else {
            throw DaemonError(.usage, "the container at \(location.url) is not encrypted, so it has no keys")
        }
        container = unlocked
        self.location = location
        self.state = state
    }

    package var newest: Keyring { container.newest }

    /// This device as a member; `nil` when it was opened by a passphrase or code.
    package var device: UUID? { container.device }

    /// Makes a version of the keyring.
    package mutating func change(
        _ body: (inout KeyringChange) throws(KeyringError) -> Void
    ) async throws(DaemonError) {
        do throws(KeyringError) { try await container.change(time: Self.now, body) } catch {
            throw DaemonError(error, url: location.url)
        }
        try keep()
    }

    /// Enrols the device that shows a code; see ``Enrolment``.
    ///
    /// - Returns: The device's name.
    package mutating func accept(_ code: RecoveryCode, role: Keyring.Role) async throws(DaemonError) -> String {
        let name: String
        do throws(KeyringError) {
            name = try await Enrolment.accept(code, role: role, in: &container, time: Self.now)
        } catch {
            throw DaemonError(error, url: location.url)
        }
        try keep()
        return name
    }

    private func keep() throws(DaemonError) {
        if let memory = container.memory { try state?.record(memory) }
    }

    /// Nanoseconds since 1970.
    static var now: Int64 { Int64(exactly: (Date.now.timeIntervalSince1970 * 1e9).rounded()) ?? .max }
}

extension DaemonError {
    /// The error of an encrypted container's keyring.
    init(_ error: KeyringError, url: String) {
        switch error {
        case .store(let error): self.init(error, url: url)
        case .wrongSecret, .notEnrolled: self.init(.denied, "\(url): \(error.sentence)")
        case .refused: self.init(.usage, error.sentence)
        case .damaged, .notDescended, .parameters: self.init(.failed, "\(url): \(error.sentence)")
        }
    }
}

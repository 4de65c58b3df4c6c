import Daemon
import Foundation
import Model

/// What `dewpoint take` needs before the mount.
extension MountPlan {
    /// Patterns of what stays on this device.
    func ignoredPatterns() throws -> [String] { try daemonOptions().ignoredPatterns }

    /// Where the state will be.
    ///
    /// - Parameter id: Of the container that will be created; `nil` for one that is there.
    func takingState(id: ContainerIdentifier?) async throws -> StateDirectory {
        if let state = try givenState() { return state }
        let location = try location()
        let environment = ProcessInfo.processInfo.environment
        if let known = StateDirectory.known(location, environment: environment) { return known }
        if let id { return StateDirectory(container: id, environment: environment) }
        return StateDirectory(container: try await identity(at: location).id, environment: environment)
    }

    /// Creates the container, unless it is there.
    ///
    /// - Parameter id: `nil` for one that must be there.
    func createContainer(_ id: ContainerIdentifier?) async throws {
        guard let id else { return }
        let location = try location()
        let found: ContainerIdentifier
        do throws(DaemonError) {
            found = try await RemoteContainer.open(location).identity.id
        } catch {
            // What else is wrong the mount says, which asks for the passphrase too.
            guard error.kind == .notFound else { return }
            return try await RemoteContainer.create(at: location, identity: ContainerIdentity(new: id))
        }
        guard found == id else {
            throw CommandFailure(
                .usage, "the container at \(url) is \(found), not \(id); leave --id out, or give another URL")
        }
    }

    /// Before anything is created or moved: what is in the container would have to be merged with what is in the directory.
    ///
    /// - Parameters:
    ///   - state: Where this device may be enrolled.
    ///   - isCreating: Whether it is created where there is none.
    func checkIsNew(_ state: StateDirectory, isCreating: Bool) async throws {
        let location = try location()
        do throws(DaemonError) {
            try await RemoteContainer.open(location, state: state, unlocking: passphrase?.unlocking ?? .refused)
                .checkIsNew()
        } catch {
            guard isCreating, error.kind == .notFound else { throw error }
        }
    }

    private func identity(at location: ContainerLocation) async throws(DaemonError) -> ContainerIdentity {
        do throws(DaemonError) {
            return try await RemoteContainer.open(location, unlocking: passphrase?.unlocking ?? .refused).identity
        } catch {
            guard error.kind == .notFound else { throw error }
            throw DaemonError(
                .notFound,
                "there is no container at \(url); add --id ID to create one, such as iCloud.com.example.Notes")
        }
    }
}

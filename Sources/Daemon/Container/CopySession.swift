import Foundation
import Model
package import Remote
package import Sealing

/// The copy of a container into another place: from a plain one into an encrypted one, or back.
package struct CopySession: Sendable {
    private let source: RemoteContainer
    private let target: RemoteContainer

    /// How a target that is not there yet is made.
    package enum Making: Sendable {
        case plain
        case encrypted(passphrase: Passphrase, recovery: RecoveryCode, deviceName: String)
    }

    /// Opens both; the target is created if there is none.
    ///
    /// - Parameters:
    ///   - unlocking: For the source.
    ///   - making: How the target is made, asked only if there is none; it is called before anything is.
    ///   - targetUnlocking: For a target that a copy has begun.
    ///   - whenCreated: Called when an encrypted target was created.
    /// - Throws: ``DaemonError``; with `cannotCreate` when there is another container at the target, `usage` when that is the
    ///   source.
    package init(
        from sourceLocation: ContainerLocation, unlocking: Unlocking, to targetLocation: ContainerLocation,
        targetUnlocking: Unlocking, making: () throws -> Making, whenCreated: () throws -> Void
    ) async throws {
        guard !sourceLocation.isSamePlace(as: targetLocation) else { throw Self.isSource(targetLocation) }
        source = try await RemoteContainer.open(sourceLocation, unlocking: unlocking)
        if try await !Self.exists(targetLocation) {
            switch try making() {
            case .plain:
                try await RemoteContainer.create(at: targetLocation, identity: source.identity, isCopy: true)
            case .encrypted(let passphrase, let recovery, let deviceName):
                _ = try await RemoteContainer.createEncrypted(
                    at: targetLocation, identity: source.identity, passphrase: passphrase, recovery: recovery,
                    deviceName: deviceName, isCopy: true)
                try whenCreated()
                let person = Unlocking(isExpected: true) { _ throws(DaemonError) in .passphrase(passphrase) }
                target = try await RemoteContainer.open(targetLocation, unlocking: person, isCopy: true)
                return
            }
        }
        target = try await RemoteContainer.open(targetLocation, unlocking: targetUnlocking, isCopy: true)
        // A copy has a keyring of its own.
        if let keyring = source.unlocked?.newest.container, keyring == target.unlocked?.newest.container {
            throw Self.isSource(targetLocation)
        }
        guard target.identity.uuid == source.identity.uuid else {
            throw DaemonError(
                .cannotCreate,
                "\(targetLocation.url) has another container, \(target.identity.id), and not a copy of "
                    + "\(sourceLocation.url); choose an empty place")
        }
    }

    private static func isSource(_ location: ContainerLocation) -> DaemonError {
        DaemonError(.usage, "\(location.url) is the source itself; choose an empty place")
    }

    /// Whether there is a container, or a copy that has begun.
    private static func exists(_ location: ContainerLocation) async throws(DaemonError) -> Bool {
        do throws(StoreError) {
            let store = try location.openStore(createIfMissing: false)
            if try await CopyMark(in: store) != nil { return true }
            guard location.mayBeContainer else { return false }
            _ = try await store.head(.container("container.json"))
            return true
        } catch {
            guard error.code == .notFound || error.remedy == .createPlace else {
                throw DaemonError(error, url: location.url)
            }
            return false
        }
    }

    /// Copies, and then reads the copy as a new device does.
    ///
    /// Objects on their way are in `$TMPDIR`, otherwise `/var/tmp`, in files without names.
    ///
    /// - Parameter deviceName: The name of the device that reads the copy.
    /// - Returns: Also what the copy lacks, as its source does, in sentences.
    package func run(deviceName: String) async throws -> (report: ContainerCopy.Report, problems: [String]) {
        let report = try await copy()
        return (report, try await TemporarySession(target, deviceName: deviceName).check())
    }

    private func finish() async throws(ContainerCopy.Failure) {
        do throws(StoreError) {
            try await CopyMark.finish(in: try target.location.openStore(createIfMissing: false))
        } catch {
            throw ContainerCopy.Failure(side: .target, error: error)
        }
    }

    private func copy() async throws(DaemonError) -> ContainerCopy.Report {
        let scratch = TemporarySession.scratchDirectory
        do throws(ContainerCopy.Failure) {
            let report = try await ContainerCopy(
                from: source.container.store, to: target.container.store, scratch: scratch
            ).run()
            try await finish()
            return report
        } catch {
            switch error.side {
            case .source: throw DaemonError(error.error, url: source.url)
            case .target where error.error.code == .preconditionFailed:
                throw DaemonError(
                    .cannotCreate,
                    "\(target.url) was changed since the copy began, \(error.error.key): copy to an empty place")
            case .target: throw DaemonError(error.error, url: target.url)
            case .scratch:
                throw DaemonError(
                    .cannotCreate,
                    "objects on their way cannot be kept in \(scratch): \(error.error.detail); set TMPDIR to another directory"
                )
            }
        }
    }
}

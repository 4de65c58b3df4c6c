import Control
import Foundation
import Metering
package import Model
package import Remote

/// The container at a location: created by `container create` and opened by `mount`.
package struct RemoteContainer: Sendable {
    package let location: ContainerLocation
    let container: Container
    let link: LinkControl
    let metrics: MetricRegistry
    /// Whether the store lets this device change the container, as far as it was asked.
    package internal(set) var access = WriteAccess.writable

    package var identity: ContainerIdentity { container.identity }

    var url: String { location.url }

    /// - Throws: ``DaemonError`` with `cannotCreate` within another container: its garbage collection would see the
    ///   objects of both.
    package static func create(at location: ContainerLocation, identity: ContainerIdentity) async throws(DaemonError) {
        for outer in location.outerLocations where outer.mayBeContainer {
            let found: ContainerIdentity
            do throws(StoreError) {
                found = try await Container.open(in: try outer.openStore(createIfMissing: false)).identity
            } catch {
                // It would follow for the place itself too, after another wait.
                if error.isTransient { throw DaemonError(error, url: location.url) }
                // Where nothing can be read, there is no container of this user.
                continue
            }
            throw DaemonError(creating: location.url, inside: outer.url, found.id)
        }
        do throws(StoreError) {
            let store = try location.openStore(createIfMissing: true)
            try await Container.create(in: store, identity: identity)
        } catch {
            throw DaemonError(error, url: location.url)
        }
    }

    /// - Parameter link: An artificial slowdown of the link to the store.
    package static func open(
        _ location: ContainerLocation, link: DaemonOptions.Link? = nil
    ) async throws(DaemonError) -> RemoteContainer {
        do throws(StoreError) {
            let (control, metrics) = (LinkControl(link?.settings ?? LinkSettings()), MetricRegistry())
            let store = control.conditioning(try location.openStore(createIfMissing: false, metrics: metrics))
            return RemoteContainer(
                location: location, container: try await Container.open(in: store), link: control, metrics: metrics)
        } catch {
            throw DaemonError(error, url: location.url)
        }
    }

    /// Sets the quota of the container at a location, or removes it; see ``Container/setQuota(_:in:)``.
    ///
    /// - Returns: The container's identity with it.
    package static func setQuota(
        _ quota: ContainerQuota?, at location: ContainerLocation
    ) async throws(DaemonError) -> ContainerIdentity {
        do throws(StoreError) {
            return try await Container.setQuota(quota, in: try location.openStore(createIfMissing: false))
        } catch {
            throw DaemonError(error, url: location.url)
        }
    }

    /// Asks the store whether this device may change the container, and refuses a store on which two devices could
    /// overwrite each other's changes.
    mutating func askAccess() async throws(DaemonError) {
        do throws(StoreError) {
            access = try await container.writeAccess()
        } catch {
            throw DaemonError(error, url: url)
        }
    }

    /// The same for a container that is mounted whatever its store says.
    ///
    /// - Parameters:
    ///   - limit: How long the store may take to answer.
    ///   - last: What applies when it does not, or not to this question: the answer of the last time.
    mutating func askAccess(within limit: Duration, otherwise last: WriteAccess) async {
        access = await container.writeAccess(within: limit) ?? last
    }
}

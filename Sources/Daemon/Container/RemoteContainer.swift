import Foundation
package import Model
import Remote

/// The container at a location: created by `container create` and opened by `mount`.
package struct RemoteContainer: Sendable {
    package let location: ContainerLocation
    let container: Container

    package var identity: ContainerIdentity { container.identity }

    var url: String { location.url }

    package static func create(at location: ContainerLocation, identity: ContainerIdentity) async throws(DaemonError) {
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
            let store = conditioned(try location.openStore(createIfMissing: false), link)
            return RemoteContainer(location: location, container: try await Container.open(in: store))
        } catch {
            throw DaemonError(error, url: location.url)
        }
    }

    static func conditioned(_ store: any ObjectStore, _ link: DaemonOptions.Link?) -> any ObjectStore {
        guard let condition = link?.condition else { return store }
        return ConditionedStore(store, condition: condition, clock: .continuous) { .random(in: 0..<100) }
    }

    /// Refuses a store on which two devices could overwrite each other's changes.
    func verify() async throws(DaemonError) {
        do throws(StoreError) {
            try await container.verifyCreateOnly()
        } catch {
            throw DaemonError(error, url: url)
        }
    }
}

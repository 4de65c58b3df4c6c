import Foundation
package import Model
import Remote

/// The container at a URL: what `container create` makes and `mount` opens.
package struct RemoteContainer: Sendable {
    package let url: String
    let container: Container

    package var identity: ContainerIdentity { container.identity }

    package static func create(url: String, identity: ContainerIdentity) async throws(DaemonError) {
        do throws(StoreError) {
            let store = try StoreLocation.open(url, createIfMissing: true)
            try await Container.create(in: store, identity: identity)
        } catch {
            throw DaemonError(error, url: url)
        }
    }

    /// - Parameter link: How bad the link to the store is made on purpose.
    package static func open(url: String, link: DaemonOptions.Link? = nil) async throws(DaemonError) -> RemoteContainer
    {
        do throws(StoreError) {
            var store = try StoreLocation.open(url, createIfMissing: false)
            if let condition = link?.condition {
                store = ConditionedStore(store, condition: condition, clock: .continuous) { .random(in: 0..<100) }
            }
            return RemoteContainer(url: url, container: try await Container.open(in: store))
        } catch {
            throw DaemonError(error, url: url)
        }
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

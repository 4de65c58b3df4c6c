package import Model
import Remote
package import Replica

extension ManifestStore {
    /// Writes a chunk list where it has to be an object of its own, and under a name that may still be used.
    package func reference(
        to content: Content, _ replica: Replica, _ environment: EngineEnvironment
    ) async throws -> ItemRecord.Reference {
        let reference = try await put(content)
        guard case .manifest(let hash) = reference, try replica.isCondemned(.manifest(hash)) else { return reference }
        // The same list under another name: that one is not to be used again.
        return try await put(content, salt: environment.makeUUID())
    }
}

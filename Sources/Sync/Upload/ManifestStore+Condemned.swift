package import Model
import Remote
package import Replica

extension ManifestStore {
    /// Writes a chunk list as an object of its own if necessary, under a name that may still be used.
    package func reference(
        to content: Content, _ replica: Replica, _ environment: EngineEnvironment
    ) async throws -> ItemRecord.Reference {
        let reference = try await put(content)
        guard case .manifest(let hash) = reference, try replica.read({ try $0.isCondemned(.manifest(hash)) }) else {
            return reference
        }
        // The name of this list is condemned and must not be used again: write it under another.
        return try await put(content, salt: environment.makeUUID())
    }
}

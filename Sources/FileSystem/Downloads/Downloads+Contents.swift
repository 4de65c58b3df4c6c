import Model
import Remote
import Replica

/// Chunk lists that are not known yet: the record of a long file only names the manifest.
extension Downloads {
    /// Whether its manifest must be read first.
    func isContentUnknown(_ number: InodeNumber) throws(FileError) -> Bool {
        guard active(number) == nil else { return false }
        return try replica.look { try $0.inode(number).isContentUnknown }
    }

    func learnContent(of number: InodeNumber) async throws(FileError) {
        guard let record = try replica.look({ try $0.entries(of: number).first?.base }), let reference = record.content
        else {
            throw FileError(.corrupt, "the index has no content for \(number)")
        }
        let content: Content
        do throws(StoreError) { content = try await manifests.get(reference, size: record.size) } catch {
            throw error.fileError
        }
        do throws(FileError) {
            try replica.change { try $0.setKnownContent(number, content: content) }
        } catch {
            // Another task has fetched it in the meantime.
            guard error.code == .superseded else { throw error }
        }
    }
}

extension Inode {
    /// Whether only the manifest's name is known: it could not be read when the record arrived, or the record came with
    /// a snapshot.
    var isContentUnknown: Bool { !isLocal && !hasContent && !hasIncoming }
}

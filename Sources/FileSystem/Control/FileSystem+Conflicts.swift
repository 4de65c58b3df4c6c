package import Model
import Replica

/// Conflicts of the whole container.
extension FileSystem {
    /// The files whose conflict versions wait to be resolved: at most ``ConflictedItem/limit``, by path.
    package func conflicts() throws(FileError) -> [ConflictedItem] {
        var items: [ConflictedItem] = []
        for number in try replica.conflictedInodes(limit: ConflictedItem.limit) {
            do throws(FileError) {
                let versions = try versions(of: number).filter { $0.kind != .earlier }
                items.append(ConflictedItem(path: try replica.path(of: number), versions: versions))
            } catch {
                // Removed, or resolved, since they were listed.
                guard error.code == .notFound || error.code == .superseded else { throw error }
            }
        }
        return items.sorted { $0.path < $1.path }
    }
}

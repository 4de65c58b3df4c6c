package import Model
import Replica

/// Conflicts of the whole container.
extension FileSystem {
    /// The files whose conflict versions wait to be resolved: at most ``ConflictedItem/limit``, by path.
    package func conflicts() throws(FileError) -> [ConflictedItem] {
        var items: [ConflictedItem] = []
        let numbers = try replica.conflictedInodes(limit: ConflictedItem.limit)
        let paths = try replica.paths(of: numbers)
        for number in numbers {
            if Task.isCancelled { throw FileError(.interrupted, "the client has disconnected") }
            guard let path = paths[number] else { continue }
            do throws(FileError) {
                let versions = try versions(of: number).filter { $0.kind != .earlier }
                items.append(ConflictedItem(path: path.string, versions: versions))
            } catch {
                // Removed, or resolved, since they were listed.
                guard error.code == .notFound || error.code == .superseded else { throw error }
            }
        }
        return items.sorted { $0.path < $1.path }
    }
}

import Logging
package import Model
import Replica
package import Sync

/// Listings of directories: by positions that belong to the names, so that they survive removals, other handles, and the
/// end of the daemon.
extension FileSystem {
    /// A listing begins, or continues in a directory that was opened anew.
    ///
    /// - Returns: The position at which it ends: a program that adds a name for each one that it reads comes to an end.
    package func beginListing(of directory: InodeNumber) throws(FileError) -> Int64 {
        syncEngine.follower.use.note()
        if let preview = try previewListed(directory) { return Int64(preview.children.count) }
        let last = try replica.read { try $0.lastPosition(in: directory) }
        reading.placeholders.visited(directory)
        return last
    }

    /// The names after a position, up to another one.
    ///
    /// - Parameter isCurrent: Whether the attributes must have writes that the index has not recorded yet.
    package func children(
        of directory: InodeNumber, after position: Int64, through last: Int64, limit: Int, isCurrent: Bool
    ) throws(FileError) -> [PositionedChild] {
        if let preview = try previewListed(directory) {
            return preview.children(after: position, through: last, limit: limit)
        }
        let moment = files.open.recordingCount
        var children = try replica.read { try $0.children(of: directory, after: position, through: last, limit: limit) }
        guard isCurrent else { return children }
        for index in children.indices {
            do throws(FileError) {
                children[index].attributes = try current(children[index].attributes, since: moment)
            } catch {
                // Removed since the listing began: it is listed as it was.
                guard error.code == .notFound else { throw error }
            }
        }
        return children
    }

    /// Every name in a directory, in byte order.
    package func names(of directory: InodeNumber) throws(FileError) -> [DirectoryName] {
        if let preview = try previewListed(directory) {
            return preview.children.map {
                DirectoryName(name: $0.name, inode: $0.attributes.inode, kind: $0.attributes.kind)
            }
        }
        var names: [DirectoryName] = []
        while true {
            let children = try replica.read {
                try $0.children(of: directory, after: names.last?.name, limit: Self.namesPerQuery)
            }
            names += children.map {
                DirectoryName(name: $0.name, inode: $0.attributes.inode, kind: $0.attributes.kind)
            }
            if children.count < Self.namesPerQuery { return names }
        }
    }

    /// The names that lead to an inode.
    package func entryNames(of inode: InodeNumber) throws(FileError) -> [EntryName] {
        try replica.look { try $0.entries(of: inode) }.map { EntryName($0.name, in: $0.parent) }
    }

    /// Whether a file's newest bytes are on this disk.
    package func isLocal(_ inode: InodeNumber) throws(FileError) -> Bool {
        try replica.look { try $0.isLocal(inode) }
    }

    /// How many names one query returns.
    private static let namesPerQuery = 4096
}

/// One name of a directory.
package struct DirectoryName: Sendable, Hashable {
    package let name: ItemName
    package let inode: InodeNumber
    package let kind: ItemKind
}

/// The rules that the options of a mount have for the directory at a path, whichever that is.
package struct PathRules: Hashable, Sendable {
    /// The most paths of a mount.
    package static let countLimit = 1000

    /// From the root of the container, whose own rules are the options of the mount.
    package var names: [ItemName]
    package var limits: [DirectoryRule: DirectoryRule.Limit]

    /// - Parameter path: Relative to the mount.
    /// - Throws: ``FileError`` with `invalid` for one that no directory can have.
    package init(path: String, limits: [DirectoryRule: DirectoryRule.Limit]) throws(FileError) {
        var names: [ItemName] = []
        for component in ItemPath(path).components {
            do throws(FileError) {
                names.append(try ItemName(String(component)))
            } catch {
                throw FileError(.invalid, "the path \(path.printable) has a part that is no name of a directory")
            }
        }
        guard !names.isEmpty, !ItemPath(path).isAbsolute else {
            throw FileError(
                .invalid,
                "the path of a directory with rules is relative to the mount, as in Pictures/raw, not \(path.printable)"
            )
        }
        self.names = names
        self.limits = limits
    }

    package var path: String { ItemPath(names.map(\.string)).string }
}

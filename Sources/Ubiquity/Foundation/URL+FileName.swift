import Model

extension URL {
    /// The last name of the path. Foundation's `lastPathComponent` drops a U+FEFF at its start.
    var fileName: String { ItemPath(path).last.map(String.init) ?? lastPathComponent }
}

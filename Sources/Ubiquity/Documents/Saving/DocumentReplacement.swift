import Glibc
import Linux
import Model

/// Puts a new state of an item, from a ``DocumentStaging``, in the place of the old one.
///
/// A file is replaced by `rename(2)`: at every moment the path names the old bytes or the new ones, and in a container
/// the item keeps its identity, pin and history. The files of a directory (a file package) are replaced one by one in
/// the same way, so each keeps its history too, and those that are hard links to the old ones are not touched: nothing
/// is downloaded or uploaded for them. A crash in the middle may leave a package with some files old and some new.
enum DocumentReplacement {
    /// Moves the item at `staged` to `place`, where another one may be.
    ///
    /// - Throws: A `CocoaError` of writing; a file in the way is then unchanged.
    static func put(_ staged: URL, at place: URL) throws(CocoaError) {
        do {
            try put(staged: staged.path, place: place.path)
        } catch {
            throw error.whileWriting(place)
        }
    }

    private static func put(staged: String, place: String) throws(FileError) {
        let new = try ItemSignature(path: staged)
        guard let old = try existing(place) else { return try move(staged, to: place) }
        switch (new.kind, old.kind) {
        case (.directory, .directory): try merge(staged: staged, place: place)
        // A directory cannot be renamed over a file, nor a file over a directory: they change places.
        case (.directory, _), (_, .directory): try ItemMove.exchange(staged, place)
        default:
            // rename(2) of a file over another link to it does nothing, so the staged link would stay.
            if new.isSameFile(as: old) { return try ItemMove.remove(staged) }
            if new.kind == .file, old.kind == .file { KeptAttributes.copy(from: place, old, to: staged) }
            try move(staged, to: place)
        }
    }

    private static func merge(staged: String, place: String) throws(FileError) {
        let names = try entries(staged)
        for name in names.sorted() { try put(staged: "\(staged)/\(name)", place: "\(place)/\(name)") }
        for name in try entries(place).subtracting(names) { try ItemMove.remove("\(place)/\(name)") }
    }

    private static func existing(_ path: String) throws(FileError) -> ItemSignature? {
        do throws(FileError) { return try ItemSignature(path: path) } catch {
            if error.code == .notFound { return nil }
            throw error
        }
    }

    private static func move(_ old: String, to new: String) throws(FileError) {
        try SystemCalls.check("rename", old) { rename(old, new) }
    }

    private static func entries(_ path: String) throws(FileError) -> Set<ItemPath> {
        Set(try SystemCalls.names(in: path).map { ItemPath($0) })
    }
}

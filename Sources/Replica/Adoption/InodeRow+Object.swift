import Linux
import Model

extension InodeRow {
    /// The object of this row, if it is the one at a place. Whoever has a directory of the tree open can put another one there.
    func held(at place: BackingPlace) throws(FileError) -> HeldObject? {
        guard let identity else { return nil }
        let object: HeldObject
        do throws(FileError) { object = try HeldObject(place) } catch {
            if error.code == .notFound { return nil }
            throw error
        }
        guard try SystemCalls.status(of: object.descriptor).identity.matches(identity),
            ItemKind(try object.descriptor.status()) == kind
        else { return nil }
        return object
    }
}

import Linux
import Model

extension InodeRow {
    /// The object at a place if it is still this row's: a program that has the directory open may have put another one there.
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

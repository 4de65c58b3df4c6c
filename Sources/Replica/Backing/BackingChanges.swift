import Glibc
import Linux
import Model

/// The calls on the backing directory within one index transaction, with their inverses.
///
///     calls … COMMIT → finish()     placeholders follow the index, removed files are deleted
///     calls … error  → undo()       the disk is as before
///     calls … crash                 start-up repair, from the identity of the files
///
/// Nothing is unlinked before the commit: files to remove are first renamed into `staging/removed`.
final class BackingChanges {
    private let interrupt: (ChangeStep) throws(FileError) -> Void
    private var undos: [() throws(FileError) -> Void] = []
    private var removals: [Removal] = []
    private(set) var placeholders: [(parent: InodeNumber, name: ItemName)] = []
    /// The directories in which files were made, or to which they were moved, that may not have been synced.
    private(set) var directoriesWithNewFiles: Set<InodeNumber> = []
    /// Whether an object was in the way where, by the index, there is none.
    private(set) var metStranger = false

    struct Removal {
        var place: BackingPlace
        var isDirectory = false
        /// Wait until the index is durable: the bytes exist nowhere else, and a power failure may undo the commit.
        var whenDurable = false
        var byteCount: Int64 = 0
    }

    init(interrupt: @escaping (ChangeStep) throws(FileError) -> Void) { self.interrupt = interrupt }

    private func did(_ detail: String, undo: @escaping () throws(FileError) -> Void) throws(FileError) {
        undos.append(undo)
        try interrupt(.changedBacking(detail))
    }

    /// Registers a further undo action, besides the disk's; it runs while no other change can.
    func onUndo(_ undo: @escaping () throws(FileError) -> Void) { undos.append(undo) }

    /// Makes a call that needs a free place.
    private func needingRoom<Value>(_ call: () throws(FileError) -> Value) throws(FileError) -> Value {
        do { return try call() } catch {
            if error.code == .exists { metStranger = true }
            throw error
        }
    }

    /// Creates a file that must not exist, open for reading and writing.
    func createFile(at place: BackingPlace, mode: UInt16) throws(FileError) -> Descriptor {
        let descriptor = try needingRoom { () throws(FileError) in
            try SystemCalls.create(place, mode: mode)
        }
        try did("create \(place.name)") { () throws(FileError) in try SystemCalls.unlink(place) }
        return descriptor
    }

    /// Notes that a directory has a file that may not be on the disk yet.
    func notedNewFile(in directory: InodeNumber) { directoriesWithNewFiles.insert(directory) }

    /// Takes over a file that was created in advance.
    func takeFile(at place: BackingPlace) throws(FileError) {
        try did("take \(place.name)") { () throws(FileError) in try SystemCalls.unlink(place) }
    }

    func makeDirectory(at place: BackingPlace) throws(FileError) {
        do {
            try SystemCalls.makeDirectory(place)
        } catch  where error.code == .exists {
            // A directory that someone created by hand is as good as ours; anything else is in the way.
            guard try SystemCalls.status(place).isDirectory else {
                metStranger = true
                throw error
            }
            return
        }
        try did("mkdir \(place.name)") { () throws(FileError) in try SystemCalls.unlink(place, directory: true) }
    }

    func makeSymbolicLink(at place: BackingPlace, to target: String) throws(FileError) {
        try needingRoom { () throws(FileError) in try SystemCalls.makeSymbolicLink(place, to: target) }
        try did("symlink \(place.name)") { () throws(FileError) in try SystemCalls.unlink(place) }
    }

    func link(_ place: BackingPlace, as new: BackingPlace) throws(FileError) {
        try needingRoom { () throws(FileError) in try SystemCalls.link(place, as: new) }
        try did("link \(new.name)") { () throws(FileError) in try SystemCalls.unlink(new) }
    }

    func rename(_ old: BackingPlace, to new: BackingPlace) throws(FileError) {
        try needingRoom { () throws(FileError) in try SystemCalls.rename(old, to: new) }
        try did("rename \(old.name)") { () throws(FileError) in try SystemCalls.rename(new, to: old) }
    }

    /// Removes one of several names of a file.
    func unlinkName(_ place: BackingPlace, keptAt other: BackingPlace) throws(FileError) {
        try SystemCalls.unlink(place)
        try did("unlink \(place.name)") { () throws(FileError) in try SystemCalls.link(other, as: place) }
    }

    func exchange(_ one: BackingPlace, _ other: BackingPlace) throws(FileError) {
        try SystemCalls.exchange(one, other)
        try did("exchange \(one.name)") { () throws(FileError) in try SystemCalls.exchange(one, other) }
    }

    /// Of a file that is held, since other programs may reach the place too.
    func setMode(_ file: HeldObject, at place: BackingPlace, _ mode: UInt16, old: BackingStatus) throws(FileError) {
        try file.setMode(mode)
        try did("chmod \(place.name)") { () throws(FileError) in
            try Self.hold(place, as: old.identity).setMode(old.mode & 0o7777)
        }
    }

    func setTimes(
        _ file: HeldObject, at place: BackingPlace, accessed: Timestamp?, modified: Timestamp?, old: BackingStatus
    ) throws(FileError) {
        try file.setTimes(accessed: accessed, modified: modified)
        try did("utimensat \(place.name)") { () throws(FileError) in
            try Self.hold(place, as: old.identity).setTimes(accessed: old.accessed, modified: old.modified)
        }
    }

    /// Not held from the change on: a transaction may change more files than can be open.
    private static func hold(_ place: BackingPlace, as identity: BackingIdentity) throws(FileError) -> HeldObject {
        let object = try HeldObject(place)
        guard try SystemCalls.status(of: object.descriptor).identity.matches(identity) else {
            throw FileError(.inputOutput, "\(place.name) in the backing directory was replaced")
        }
        return object
    }

    /// Queues a removal for after the commit.
    func remove(_ removal: Removal) { removals.append(removal) }

    /// Queues the placeholder of a name for after the commit, when it is written, rewritten or removed to match the
    /// index.
    func refreshPlaceholder(_ name: ItemName, in parent: InodeNumber) { placeholders.append((parent, name)) }

    func willCommit() throws(FileError) { try interrupt(.beforeCommit) }

    /// Undoes every call, the last one first.
    /// - Returns: The calls that could not be undone, as errors.
    func undo() -> [FileError] {
        var errors: [FileError] = []
        for undo in undos.reversed() {
            do throws(FileError) { try undo() } catch { errors.append(error) }
        }
        undos = []
        return errors
    }

    /// Performs the actions that waited for the commit. A failure does not stop the remaining ones.
    ///
    /// - Parameters:
    ///   - writePlaceholder: Makes one placeholder agree with the index.
    ///   - postpone: Takes over removals that must wait until the index is durable.
    /// - Returns: The errors of failed actions.
    func finish(
        writePlaceholder: (InodeNumber, ItemName) throws(FileError) -> Void, postpone: (Removal) -> Void
    ) throws(FileError) -> [FileError] {
        try interrupt(.afterCommit)
        var errors: [FileError] = []
        for (parent, name) in placeholders {
            do throws(FileError) { try writePlaceholder(parent, name) } catch { errors.append(error) }
            try interrupt(.finished("placeholder of \(name)"))
        }
        for removal in removals {
            if removal.whenDurable {
                postpone(removal)
                continue
            }
            do throws(FileError) { try SystemCalls.unlink(removal.place, directory: removal.isDirectory) } catch {
                if error.code != .notFound { errors.append(error) }
            }
            try interrupt(.finished("remove \(removal.place.name)"))
        }
        return errors
    }
}

import Foundation
import Glibc
package import Linux
package import Model

/// A directory whose contents are becoming those of a state, or become those of the directory again: `dewpoint take`. It is
/// noted in the state, in the file `taking`, from before the first change until there is nothing left to do.
///
///     moving       some are in `files/`, the others still in the directory; what the index has of them is void
///     finishing    all are in `files/`, and the index has them; some names and modes on the disk are not yet the backing ones
///     restoring    all are in `files/`; names, modes, times and attributes on the disk are becoming those of the items
///     returning    as they are to be; some are in the directory again
///
/// A state with the note is not repaired: what repair does not know it would put aside, or delete.
package struct TreeTaking: Hashable, Sendable {
    package enum Phase: String, Sendable {
        case moving, finishing, restoring, returning

        /// Whether the directory becomes a plain one again: then the state is no longer one that can be mounted.
        var isReturn: Bool { self == .restoring || self == .returning }
    }

    /// Absolute, and without symbolic links.
    package private(set) var directory: String
    package private(set) var phase = Phase.moving
    /// The directory's own mode and modification time, before anything was moved.
    let mode: UInt16
    let modified: Timestamp

    static let name = "taking"

    /// - Parameter descriptor: The directory, open.
    package init(of descriptor: Descriptor, at directory: String) throws(FileError) {
        let status = try SystemCalls.status(of: descriptor)
        self.directory = directory
        let mode = status.mode & 0o7777
        self.mode = descriptor.accessList?.mode(mode) ?? mode
        modified = status.modified
    }

    /// A return, which begins.
    init(returning directory: String, as root: Attributes) {
        self.directory = directory
        phase = .restoring
        mode = root.mode
        modified = root.modified
    }

    /// That of a state; `nil` where none is under way.
    ///
    /// - Throws: `inputOutput` when it cannot be read.
    package init?(of state: String) throws(FileError) {
        let path = "\(state)/\(Self.name)"
        guard access(path, F_OK) == 0 || errno != ENOENT else { return nil }
        let text: [UInt8]
        do throws(FileError) {
            let file = try Descriptor(path, O_RDONLY | O_NOFOLLOW)
            text = try file.read(byteCount: Self.byteLimit, at: 0)
        } catch {
            throw FileError(.inputOutput, "\(path) cannot be read: \(error.detail)")
        }
        // The path is the rest: it may have line ends.
        let words = text.split(separator: UInt8(ascii: "\n"), maxSplits: 3, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 4, let phase = Phase(rawValue: words[0]), let mode = UInt16(words[1], radix: 8),
            let modified = Int64(words[2]), words[3].utf8.first == UInt8(ascii: "/")
        else { throw FileError(.inputOutput, "\(path) cannot be read: it was written by another version, or damaged") }
        self.phase = phase
        self.mode = mode
        self.modified = Timestamp(rawValue: modified)
        directory = words[3]
    }

    /// Longer than any path that a system call takes.
    private static let byteLimit = 2 * Int(PATH_MAX)

    /// Makes the note durable.
    package func note(in state: String) throws(FileError) {
        let place = try Self.place(in: state)
        let text = "\(phase.rawValue)\n\(String(mode, radix: 8))\n\(modified.rawValue)\n\(directory)"
        let new = Place(directory: place.directory, name: "\(Self.name).new")
        let file = try SystemCalls.open(new, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o600)
        try file.write(Array(text.utf8), at: 0, as: "write \(Self.name)")
        try file.synchronize(as: "fsync \(Self.name)")
        try SystemCalls.replace(place, with: new)
        try place.directory.synchronize(as: "fsync \(state)")
    }

    /// Notes that the phase before is complete.
    mutating func begin(_ phase: Phase, in state: String) throws(FileError) {
        self.phase = phase
        try note(in: state)
    }

    /// Notes another directory to return to.
    mutating func redirect(to directory: String, in state: String) throws(FileError) {
        self.directory = directory
        try note(in: state)
    }

    /// Removes the note: from here on the state is like any other.
    package static func end(in state: String) throws(FileError) {
        let place = try place(in: state)
        try SystemCalls.unlink(place)
        try place.directory.synchronize(as: "fsync \(state)")
    }

    /// The error of using a state whose directory is being given back.
    package var refusal: FileError? {
        guard phase.isReturn else { return nil }
        return FileError(
            .invalid,
            "\(directory) was to be a plain directory again, which was interrupted; finish that: dewpoint take --undo "
                + directory)
    }

    private static func place(in state: String) throws(FileError) -> Place {
        Place(directory: try BackingDirectory.openDirectory(state), name: name)
    }
}

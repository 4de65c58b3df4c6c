import Foundation
import Glibc

/// The file that an archive is written to: a new one, readable by its user only.
///
/// Its name can be guessed, and the working directory may belong to others. So it is created before anything is
/// collected, and no link that stands in its place is followed.
struct DiagnosisArchive {
    /// Absolute. Only the directory is free of symbolic links.
    let path: String
    private let descriptor: Int32

    /// - Returns: `nil` if there is something of that name.
    /// - Throws: ``CommandFailure`` when it cannot be created. Related: `open(2)` with `O_EXCL`.
    init?(creating given: String) throws {
        let (directory, name) = Self.split(given)
        guard !name.isEmpty else { throw CommandFailure(.usage, "\(given) is a directory; give the path of a file") }
        let parent = try MountedPath.absolute(directory)
        path = parent == "/" ? "/\(name)" : "\(parent)/\(name)"
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { return nil }
            throw CommandFailure(.cannotCreate, "\(path) cannot be created: \(String(cString: strerror(errno)))")
        }
    }

    private static func split(_ given: String) -> (directory: String, name: String) {
        let bytes = given.utf8
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return (".", given) }
        let directory = slash == bytes.startIndex ? "/" : String(given[..<slash])
        return (directory, String(given[bytes.index(after: slash)...]))
    }

    /// - Throws: ``CommandFailure`` when the bytes cannot be written, on a full disk say.
    func write(_ bytes: Data) throws(CommandFailure) {
        do {
            let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
            try file.write(contentsOf: bytes)
            try file.close()
        } catch {
            throw CommandFailure(.cannotCreate, "\(path) cannot be written: \(error.localizedDescription)")
        }
    }

    /// Removes the file, which is not complete.
    func discard() {
        close(descriptor)
        unlink(path)
    }
}

import Glibc
package import Model

extension SystemCalls {
    /// Passes on the names in a directory except `.` and `..`, with their types: `DT_DIR` and so on. Related:
    /// `readdir(3)`.
    ///
    /// - Parameter detail: What opening it is called, for people.
    package static func forEachName(
        in directory: Descriptor, opening detail: String = "opendir", _ body: (UnsafePointer<CChar>, UInt8) -> Void
    ) throws(FileError) {
        // A separate open file, since the stream moves and closes the one that it is given.
        let descriptor = try check("opendir", as: detail) {
            openat(directory.rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        }
        guard let stream = fdopendir(descriptor) else {
            let failure = FailedCall("opendir")
            close(descriptor)
            throw FileError(failure)
        }
        try forEachName(of: stream, body)
    }

    /// As of an open directory. Related: `opendir(3)`.
    package static func forEachName(
        in path: String, _ body: (UnsafePointer<CChar>, UInt8) -> Void
    ) throws(FileError) {
        guard let stream = opendir(path) else { throw FileError(FailedCall("opendir")) }
        try forEachName(of: stream, body)
    }

    /// The names in a directory except `.` and `..`; what is not UTF-8 in them is replaced.
    package static func names(in path: String) throws(FileError) -> [String] {
        var names: [String] = []
        try forEachName(in: path) { name, _ in names.append(String(cString: name)) }
        return names
    }

    private static func forEachName(
        of stream: OpaquePointer, _ body: (UnsafePointer<CChar>, UInt8) -> Void
    ) throws(FileError) {
        defer { closedir(stream) }
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw FileError(FailedCall("readdir")) }
                return
            }
            // The declared 256 bytes may reach beyond the entry, and beyond the mapped memory, so the name is read in
            // place.
            let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
            let name = (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self)
            if strcmp(name, ".") != 0, strcmp(name, "..") != 0 { body(name, entry.pointee.d_type) }
        }
    }
}

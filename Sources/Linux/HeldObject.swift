import CLinux
import Glibc
package import Model

/// An object of any kind that was found by its name once. What is done to it reaches it and nothing else, whatever another
/// program puts at the name meanwhile.
///
/// Opened with `O_PATH`, which takes no permission for the object and waits for nothing.
package struct HeldObject: Sendable {
    package let descriptor: Descriptor

    /// Symbolic links are not followed: then it is the link.
    package init(_ place: Place) throws(FileError) { try self.init(place.name, in: place.directory) }

    /// As of a place; the name need not be UTF-8.
    package init(_ name: UnsafePointer<CChar>, in directory: Descriptor) throws(FileError) {
        descriptor = Descriptor(
            owning: try SystemCalls.check("open", String(cString: name)) {
                openat(directory.rawValue, name, CLinux_O_PATH | O_NOFOLLOW | O_CLOEXEC)
            })
    }

    /// A link of the kernel's own: it leads to this object, and if that is a symbolic link, no further. Related: proc(5).
    var path: String { "/proc/self/fd/\(descriptor.rawValue)" }

    /// Opens it, as it is.
    package func opened(_ flags: Int32) throws(FileError) -> Descriptor { try Descriptor(path, flags, as: "open") }

    /// The names of its attributes, of all kinds; empty where they cannot be told. Related: `listxattr(2)`.
    package var attributeNames: [String] {
        // Most have none.
        guard CLinux_listxattr(path, nil, 0) > 0 else { return [] }
        var names = [UInt8](repeating: 0, count: 64 << 10)
        let count = CLinux_listxattr(path, &names, names.count)
        return names.prefix(max(count, 0)).split(separator: 0).compactMap { String(validating: $0, as: UTF8.self) }
    }

    /// Not for symbolic links, which have none. Related: `chmod(2)`.
    package func setMode(_ mode: UInt16) throws(FileError) {
        try SystemCalls.check("chmod") { chmod(path, mode_t(mode)) }
    }

    /// Related: `fchownat(2)`.
    package func setOwner(_ owner: UInt32, group: UInt32) throws(FileError) {
        try SystemCalls.check("chown") { fchownat(descriptor.rawValue, "", owner, group, CLinux_AT_EMPTY_PATH) }
    }

    /// Sets the times that are not `nil`. Related: `utimensat(2)`.
    package func setTimes(accessed: Timestamp?, modified: Timestamp?) throws(FileError) {
        let times = [SystemCalls.timespec(accessed), SystemCalls.timespec(modified)]
        try SystemCalls.check("utimensat") { utimensat(AT_FDCWD, path, times, 0) }
    }
}

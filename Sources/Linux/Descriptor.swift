import Glibc
package import Model

/// An open file that is closed with the last reference.
package final class Descriptor: Sendable {
    package let rawValue: Int32

    /// Takes ownership of `rawValue`: no other code closes it.
    package init(owning rawValue: Int32) { self.rawValue = rawValue }

    /// Related: `open(2)`, with `O_CLOEXEC` added.
    ///
    /// - Parameter detail: For people; by default `open` and the path.
    package convenience init(
        _ path: String, _ flags: Int32 = O_RDONLY, mode: UInt16 = 0, as detail: @autoclosure () -> String? = nil
    ) throws(FileError) {
        self.init(
            owning: try SystemCalls.check("open", path, as: detail()) { open(path, flags | O_CLOEXEC, mode_t(mode)) })
    }

    // Not repeated after a signal: the number is free by then.
    deinit { close(rawValue) }
}

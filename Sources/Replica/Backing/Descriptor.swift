import Glibc

/// An open file that is closed with the last reference.
package final class Descriptor: Sendable {
    package let rawValue: Int32

    /// Takes ownership of `rawValue`: no other code closes it.
    package init(owning rawValue: Int32) { self.rawValue = rawValue }

    deinit { Glibc.close(rawValue) }
}

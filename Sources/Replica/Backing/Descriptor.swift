import Glibc

/// An open file that closes with the last reference.
package final class Descriptor: Sendable {
    package let rawValue: Int32

    /// Takes over `rawValue`: nobody else closes it.
    package init(owning rawValue: Int32) { self.rawValue = rawValue }

    deinit { Glibc.close(rawValue) }
}

/// The number of a request of the kernel, by which it is known when it comes again: the kernel sends what a daemon had read
/// and not answered to the one that takes its place. Related: `FUSE_NOTIFY_RESEND` in `linux/fuse.h`, protocol 7.40.
package struct RequestNumber: RawRepresentable, Hashable, Sendable {
    /// Whether the request may have been read, and even carried out, before.
    package let isRepeated: Bool
    /// Without the mark of a repeated one.
    package let rawValue: UInt64

    /// `FUSE_UNIQUE_RESEND`
    private static let repeatedMark: UInt64 = 1 << 63

    /// - Parameter rawValue: As the kernel sends it.
    package init(rawValue: UInt64) {
        isRepeated = rawValue & Self.repeatedMark != 0
        self.rawValue = rawValue & ~Self.repeatedMark
    }
}

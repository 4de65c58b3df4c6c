/// The number of a local file: the row id of its inode in the index, and the inode number that the kernel sees.
///
/// Numbers are never reused, so an old number refers to nothing rather than to another file.
package struct InodeNumber: RawRepresentable, Hashable, Comparable, Sendable, Codable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }

    /// The container's root directory; FUSE fixes it at 1 (`FUSE_ROOT_ID`).
    package static let root = InodeNumber(1)

    package static func < (left: InodeNumber, right: InodeNumber) -> Bool { left.rawValue < right.rawValue }
}

extension InodeNumber: CustomStringConvertible {
    package var description: String { "#\(rawValue)" }
}

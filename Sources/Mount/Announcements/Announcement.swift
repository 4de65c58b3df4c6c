import Model
import Sync

/// One call that the helper makes on the mount, so that the kernel tells those who watch of a change that was made without
/// it.
///
/// What a name refers to for the helper until the call is done is a ``View``.
struct Announcement: Hashable, Sendable {
    enum Call: Hashable, Sendable {
        /// open(2) with `O_CREAT`, mkdir(2) or symlink(2) of what has these attributes.
        case create(EntryName, Attributes)
        /// unlink(2) or rmdir(2).
        case remove(EntryName, Attributes)
        /// rename(2).
        case move(from: EntryName, to: EntryName, Attributes)
        /// rename(2) of another file to the name.
        case replace(EntryName, old: Attributes, new: Attributes)
        /// open(2) for writing, futimens(2) of the modification time, close(2).
        case modify(EntryName, Attributes)
        /// utimensat(2) of both times; of the root without a name.
        case touch(EntryName?, Attributes)
    }

    let number: UInt64
    let call: Call

    /// What a name refers to.
    enum View: Hashable, Sendable {
        case absent
        case present(Attributes)
    }

    /// What the names concerned refer to before the call.
    var views: [(entry: EntryName, view: View)] {
        switch call {
        case .create(let entry, _): [(entry, .absent)]
        case .remove(let entry, let attributes), .modify(let entry, let attributes), .touch(let entry?, let attributes),
            .replace(let entry, let attributes, _):
            [(entry, .present(attributes))]
        case .move(let old, let new, let attributes): [(old, .present(attributes)), (new, .absent)]
        case .touch(nil, _): []
        }
    }

    /// An inode, and the name that leads to it before the call and not afterwards.
    var former: (inode: InodeNumber, entry: EntryName)? {
        switch call {
        case .remove(let entry, let attributes), .move(let entry, _, let attributes): (attributes.inode, entry)
        case .create, .replace, .modify, .touch: nil
        }
    }
}

extension Announcement.Call {
    /// The same, with a virtual file in the place of one that the helper opens: the real one may be in use, with bytes that
    /// the kernel reads by itself, and must not be downloaded or counted as used.
    func openingVirtualFile(_ number: UInt64) -> Self {
        switch self {
        case .create(let entry, var attributes) where attributes.kind == .file:
            attributes.inode = .virtual(number)
            return .create(entry, attributes)
        case .modify(let entry, var attributes):
            attributes.inode = .virtual(number)
            return .modify(entry, attributes)
        case .create, .remove, .move, .replace, .touch:
            return self
        }
    }
}

extension InodeNumber {
    /// Inodes that are there for the helper alone: opened by it, they need no file.
    private static let firstVirtual: UInt64 = 1 << 62

    /// The directory from which the helper moves files to their names: nobody watches it.
    static let announcementDirectory = InodeNumber(firstVirtual)

    static func virtual(_ number: UInt64) -> InodeNumber { InodeNumber(firstVirtual + number) }

    var isVirtual: Bool { rawValue >= Self.firstVirtual }
}

/// What a program makes under the name that it gives to its temporary files: anything else of that name is a user's, and is
/// synced.
package enum ProgramFile: Hashable, Sendable {
    /// Something that the user has marked with the name, of any kind.
    case marked
    /// Any regular file: no other has the name.
    case file
    /// A regular file of at most 1 KiB: the owner or the lock of a document.
    case short
    /// A regular file that is there for at most ten minutes: a document while it is being saved.
    case brief
    /// A regular file without bytes, for at most ten minutes: vim's probe.
    case probe
    /// A regular file with the head of vim's swap files, or still without bytes.
    case swap
    /// A symbolic link: the lock of a document in Emacs.
    case link

    static let shortByteLimit: Int64 = 1 << 10
    static let briefLimit = Duration.seconds(600)
    /// Source: `block0_ver` in memline.c of vim.
    static let swapHead = Array("b0VIM ".utf8)

    func isMade(of sample: ItemSample) throws -> Bool {
        switch self {
        case .marked: return true
        case .link: return sample.kind == .symbolicLink
        case .file, .short, .brief, .probe, .swap:
            guard sample.kind == .file else { return false }
        }
        switch self {
        case .short: return sample.byteCount <= Self.shortByteLimit
        case .brief: return sample.age <= Self.briefLimit
        case .probe: return sample.byteCount == 0 && sample.age <= Self.briefLimit
        case .swap: return try sample.byteCount == 0 || sample.head()?.starts(with: Self.swapHead) ?? false
        default: return true
        }
    }
}

/// An item as it is when it is judged whether its name is ignored.
package struct ItemSample {
    package var kind: ItemKind
    package var byteCount: Int64 = 0
    /// The time since its last change.
    package var age = Duration.zero
    /// Its first bytes, at least ``headByteCount`` if it has that many; `nil` when they are not local.
    package var head: () throws -> [UInt8]?

    package static let headByteCount = 16

    /// An item that is being made: a file has no bytes yet.
    package init(new kind: ItemKind) {
        self.kind = kind
        head = { [] }
    }

    package init(
        kind: ItemKind, byteCount: Int64, age: Duration = .zero, head: @escaping () throws -> [UInt8]? = { nil }
    ) {
        self.kind = kind
        self.byteCount = byteCount
        self.age = age
        self.head = head
    }
}

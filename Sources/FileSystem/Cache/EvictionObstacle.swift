import Model

/// Why a file cannot be evicted: a pure decision.
enum EvictionObstacle: String, Hashable, Sendable, CaseIterable {
    case openForWriting
    /// Changes that are not in the container yet.
    case changed
    case pinned
    case notUploaded
    /// It is not synced.
    case local
    /// It is open for reading. Evicted on request all the same, unless the kernel reads the backing file itself: that
    /// ends only with the last close, and until then the kernel would show the old bytes whatever is written to the
    /// file.
    case open
    /// Newer bytes of it are being downloaded.
    case downloading
    /// Claimed, or presented by a program that does not permit the eviction.
    case claimed
    /// The container no longer has its bytes.
    case lost
    /// Used as recently as files are kept for (``DirectoryRule/keepRecent``); no obstacle to a requested eviction.
    case recent

    /// What is known of a file.
    struct Facts {
        var hasWriters = false
        /// Whether it is open and the kernel reads its backing file itself (pass-through).
        var isReadByKernel = false
        var isModified = false
        var isQueued = false
        var isPinned = false
        var isSynced = true
        var isLocal = true
        var isContentKnown = true
    }

    /// The obstacle to a requested eviction.
    init?(_ facts: Facts) {
        if !facts.isSynced {
            self = .local
        } else if facts.hasWriters {
            self = .openForWriting
        } else if facts.isModified || facts.isQueued {
            self = .changed
        } else if facts.isPinned {
            self = .pinned
        } else if facts.isLocal && !facts.isContentKnown {
            self = .notUploaded
        } else if facts.isLocal && facts.isReadByKernel {
            self = .open
        } else {
            return nil
        }
    }

    func error(_ name: ItemName) -> FileError {
        switch self {
        case .openForWriting: FileError(.busy, "\(name) is open for writing")
        case .changed: FileError(.busy, "\(name) has changes that are not uploaded yet")
        case .pinned: FileError(.busy, "\(name) is pinned: unpin it first")
        case .notUploaded: FileError(.busy, "\(name) is not uploaded yet")
        case .local: FileError(.busy, "\(name) is not synced and cannot be evicted")
        case .open: FileError(.busy, "\(name) is open")
        case .downloading: FileError(.busy, "newer bytes of \(name) are not downloaded yet")
        case .claimed: FileError(.busy, "\(name) is claimed or presented")
        case .recent: FileError(.busy, "\(name) was used lately")
        case .lost: FileError(.corrupt, "the container lost the bytes of \(name); the local copy is kept")
        }
    }
}

import Glibc
import Model
import Synchronization
import Linux

/// A few megabytes that are reserved so that items can be removed on a full disk: even that needs space in the index.
final class DiskReserve: Sendable {
    /// In bytes: enough for thousands of removals, and small compared to any disk.
    static let byteCount: Int64 = 4 << 20

    private let place: BackingPlace
    private let use = Mutex(Use())

    private struct Use {
        var isHeld = false
        /// How many changes are using the space.
        var borrowerCount = 0
    }

    init(_ state: ReplicaDirectory) throws(FileError) {
        place = BackingPlace(directory: try BackingDirectory.openDirectory(state.path), name: state.reserveName)
        hold()
    }

    /// The maximum space to open a state, in bytes: the lock, the marker, the index's log and the shared memory of its
    /// connections.
    static let openingByteCount: UInt = 1 << 20

    /// Releases the reserve of an earlier run if there is too little space to open the state: once mounted, files can
    /// be evicted.
    static func makeRoomToOpen(_ state: ReplicaDirectory) {
        guard isNeeded(state), let directory = try? BackingDirectory.openDirectory(state.path) else { return }
        // Without a reserve there is none to release; opening reports the lack of space.
        try? SystemCalls.unlink(BackingPlace(directory: directory, name: state.reserveName))
    }

    /// Whether the disk has too little space to open the state.
    static func isNeeded(_ state: ReplicaDirectory) -> Bool {
        var room = statvfs()
        return statvfs(state.path, &room) == 0 && room.f_bavail * room.f_frsize < openingByteCount
    }

    var isHeld: Bool { use.withLock { $0.isHeld } }

    /// Allocates the reserve, if there is space and nobody uses it.
    func hold() { use.withLock { hold(&$0) } }

    /// Runs `body` with the space of the reserve free.
    ///
    /// The reserve is allocated again when no change uses its space any longer: otherwise a change that succeeds on
    /// another thread would take the space back before `body` has used it.
    func lend<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        use.withLock { use in
            use.borrowerCount += 1
            guard use.isHeld else { return }
            use.isHeld = false
            // A missing reserve is already released.
            try? SystemCalls.unlink(place)
        }
        defer {
            use.withLock { use in
                use.borrowerCount -= 1
                hold(&use)
            }
        }
        return try body()
    }

    private func hold(_ use: inout Use) {
        if use.isHeld || use.borrowerCount > 0 { return }
        // Only removing on a full disk needs the reserve: no reason to fail.
        guard let descriptor = try? SystemCalls.open(place, O_RDWR | O_CREAT, mode: 0o600) else { return }
        use.isHeld = posix_fallocate(descriptor.rawValue, 0, off_t(Self.byteCount)) == 0
        // A partial reserve would fill the disk that it is for.
        if !use.isHeld { try? SystemCalls.unlink(place) }
    }
}

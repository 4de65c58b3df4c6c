import Glibc
import Model
import Synchronization

/// A few megabytes kept aside, so that on a full disk something can still be removed: even that needs room in the index.
final class DiskReserve: Sendable {
    /// In bytes: room for thousands of removals, and small beside any disk.
    static let byteCount: Int64 = 4 << 20

    private let place: BackingPlace
    private let isHeld = Mutex(false)

    init(_ state: StateDirectory) throws(FileError) {
        place = BackingPlace(directory: try BackingDirectory.openDirectory(state.path), name: state.reserveName)
        hold()
    }

    /// How much room opening takes at most, in bytes: the lock, the marker, the index's log and what its connections share.
    static let openingByteCount: UInt = 1 << 20

    /// Gives the room of an earlier run to the disk if there is too little left to open the state: on a mount something can be evicted.
    static func makeRoomToOpen(_ state: StateDirectory) {
        guard isNeeded(state), let directory = try? BackingDirectory.openDirectory(state.path) else { return }
        // Without a reserve there is none to give; opening says what it lacks.
        try? SystemCalls.unlink(BackingPlace(directory: directory, name: state.reserveName))
    }

    /// Whether the disk has too little left to open the state.
    static func isNeeded(_ state: StateDirectory) -> Bool {
        var room = statvfs()
        return statvfs(state.path, &room) == 0 && room.f_bavail * room.f_frsize < openingByteCount
    }

    /// Takes the room, if the disk has it.
    func hold() {
        isHeld.withLock { isHeld in
            if isHeld { return }
            // Without a reserve everything works but removing on a full disk: no reason to fail.
            guard let descriptor = try? SystemCalls.open(place, O_RDWR | O_CREAT, mode: 0o600) else { return }
            isHeld = posix_fallocate(descriptor.rawValue, 0, off_t(Self.byteCount)) == 0
            // Half a reserve would fill the disk that it is for.
            if !isHeld { try? SystemCalls.unlink(place) }
        }
    }

    /// Gives the room to the disk, if there is any.
    func release() {
        isHeld.withLock { isHeld in
            guard isHeld else { return }
            isHeld = false
            // Gone already is given already.
            try? SystemCalls.unlink(place)
        }
    }
}

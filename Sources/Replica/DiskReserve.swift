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

    /// Gives the room to the disk.
    /// - Returns: Whether there was any.
    func release() -> Bool {
        isHeld.withLock { isHeld in
            guard isHeld else { return false }
            isHeld = false
            // Gone already is given already.
            try? SystemCalls.unlink(place)
            return true
        }
    }
}

import Glibc
import Model
import Synchronization
import Linux

/// An empty file in `staging/downloads` that is created in advance, for the next download: creating one may have to
/// wait for the disk, and would delay the reader's first byte.
///
/// There is at most one. A leftover one is removed at the next start, like every file there that has no download.
final class StagingSpare: Sendable {
    private struct File: Sendable {
        let name: String
        let descriptor: Descriptor
    }

    private let directory: Descriptor
    private let spare = Mutex<File?>(nil)

    init(directory: Descriptor) { self.directory = directory }

    /// Creates the file, unless there is one.
    func prepare(number: UInt64) throws(FileError) {
        guard spare.withLock({ $0 == nil }) else { return }
        let place = BackingPlace(directory: directory, name: "spare-\(number)")
        let descriptor = try SystemCalls.open(place, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        let isKept = spare.withLock { spare in
            guard spare == nil else { return false }
            spare = File(name: place.name, descriptor: descriptor)
            return true
        }
        // Another task was faster.
        if !isKept { try SystemCalls.unlink(place) }
    }

    /// - Returns: The file, which belongs to the caller from here on; `nil` when there is none.
    func take() -> (place: BackingPlace, descriptor: Descriptor)? {
        let file = spare.withLock { spare in
            defer { spare = nil }
            return spare
        }
        return file.map { (BackingPlace(directory: directory, name: $0.name), $0.descriptor) }
    }

    func remove() {
        guard let (place, _) = take() else { return }
        // If it cannot be removed now, the next start does it; an orderly shutdown must not depend on it.
        try? SystemCalls.unlink(place)
    }
}

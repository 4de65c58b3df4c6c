import Glibc
import Model
import Synchronization

/// An empty file in `staging/downloads` that is made ahead, for the next download: making one may have to wait for the disk, and a reader's
/// first byte would wait with it.
///
/// There is one at most. One that is left over goes at the next start, as everything there that no download has.
final class StagingSpare: Sendable {
    private struct File: Sendable {
        let name: String
        let descriptor: Descriptor
    }

    private let directory: Descriptor
    private let spare = Mutex<File?>(nil)

    init(directory: Descriptor) { self.directory = directory }

    /// Makes one, where there is none.
    func prepare(number: UInt64) throws(FileError) {
        guard spare.withLock({ $0 == nil }) else { return }
        let place = BackingPlace(directory: directory, name: "spare-\(number)")
        let descriptor = try SystemCalls.open(place, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        let isKept = spare.withLock { spare in
            guard spare == nil else { return false }
            spare = File(name: place.name, descriptor: descriptor)
            return true
        }
        // Somebody else was faster.
        if !isKept { try SystemCalls.unlink(place) }
    }

    /// - Returns: The one that there is, which is the caller's from here on.
    func take() -> (place: BackingPlace, descriptor: Descriptor)? {
        let file = spare.withLock { spare in
            defer { spare = nil }
            return spare
        }
        return file.map { (BackingPlace(directory: directory, name: $0.name), $0.descriptor) }
    }

    func remove() {
        guard let (place, _) = take() else { return }
        // What cannot be removed now goes at the next start; an orderly end does not hang on it.
        try? SystemCalls.unlink(place)
    }
}

import Foundation
package import Model
import Mount

/// Takes a mount away.
package enum Unmounting {
    /// Unmounts. Blocks a thread of its own meanwhile: the kernel may write back what it holds first.
    ///
    /// - Parameter lazily: Also while a program has a file or its working directory there; they live on without a name.
    /// - Throws: ``FileError`` with `busy` when a program uses the mount and `lazily` is false.
    package static func unmount(_ mountpoint: String, lazily: Bool) async throws(FileError) {
        let result: Result<Void, MountError> = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    returning: Result { () throws(MountError) in try Mountpoint.unmount(mountpoint, lazily: lazily) })
            }
        }
        do throws(MountError) {
            try result.get()
        } catch {
            switch error {
            case .notMounted: return
            case .busy: throw FileError(.busy, error.description)
            case .mountpointDenied, .helperMissing, .deviceDenied: throw FileError(.notPermitted, error.description)
            case .mountpointMissing: throw FileError(.notFound, error.description)
            case .notDirectory, .notEmpty, .alreadyMounted, .staleMount, .noDevice, .refused:
                throw FileError(.inputOutput, error.description)
            }
        }
    }
}

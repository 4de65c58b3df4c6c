import Foundation
package import Model
import Mount

/// Unmounts containers.
package enum Unmounting {
    /// Unmounts a mount whose daemon cannot be asked, and ends its connection: a copy in another mount namespace would
    /// keep the daemon.
    ///
    /// - Parameter device: The device of the mount, as `MAJOR:MINOR`. Only root can end the connection; for other users
    ///   the daemon has to be stopped.
    /// - Throws: As ``unmount(_:lazily:writingBack:)``.
    package static func abandon(_ mountpoint: String, device: String, lazily: Bool) async throws(FileError) {
        let connection = device.split(separator: ":").last.flatMap { ConnectionAbort(number: $0) }
        try await unmount(mountpoint, lazily: lazily)
        connection?.perform()
    }

    /// Unmounts. Blocks a thread of its own meanwhile: the kernel may write back its caches first.
    ///
    /// - Parameter lazily: Also while a program has a file or its working directory there; they stay usable without a
    ///   name.
    /// - Parameter writingBack: Whether the mount answers, so that changes made through mappings can be written back
    ///   first. The kernel does so only with the last copy of a mount, and another mount namespace may have one.
    /// - Throws: ``FileError`` with `busy` when a program uses the mount and `lazily` is false.
    package static func unmount(
        _ mountpoint: String, lazily: Bool, writingBack: Bool = false
    ) async throws(FileError) {
        let result: Result<Void, MountError> = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                if writingBack { Mountpoint.writeBack(mountpoint) }
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

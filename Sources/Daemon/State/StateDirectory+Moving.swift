import Foundation
import Model
import Replica

extension StateDirectory {
    /// Moves a state that no daemon uses to another place, even on another disk. Blocks for as long as copying takes.
    ///
    /// - Throws: ``DaemonError``; then the state is still in one of the two places, or the same call can resume the
    ///   move.
    package func move(to place: StateDirectory) throws(DaemonError) {
        do throws(FileError) {
            try StateMove(from: path, to: place.path).run()
        } catch {
            switch error.code {
            case .busy: throw DaemonError(.busy, "a daemon uses the state \(path); unmount the container first")
            case .notFound: throw DaemonError(.notFound, error.detail)
            case .invalid: throw DaemonError(.usage, error.detail)
            case .notEmpty, .diskFull, .overQuota: throw DaemonError(.cannotCreate, error.detail)
            case .notPermitted, .denied: throw DaemonError(.denied, error.detail)
            default: throw DaemonError(.failed, "the state \(path) cannot be moved: \(error.detail)")
            }
        }
    }
}

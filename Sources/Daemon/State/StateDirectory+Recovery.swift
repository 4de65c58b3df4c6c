// The compiler finds `struct stat` in whichever of these two modules it reads first.
import CDispatch
import Foundation
import Glibc
package import Model
import Replica
import Linux
import Transfer

extension StateDirectory {
    /// What can be had from a state whose machine is lost.
    package enum Recovery: Hashable, Sendable {
        /// A new state was made that uploads its changes when it is mounted.
        case state(StateFindings)
        /// There are only its plain files: the index is missing or damaged.
        case filesOnly(reason: String)
    }

    private var files: String { ReplicaDirectory(path).files }

    /// Whether a daemon has it open, or was started in the background and will.
    package var isInUse: Bool { isLogInUse || ReplicaDirectory(path).isInUse }

    /// Opens the log for a daemon that is about to be started, and locks it, which the daemon inherits: until it has
    /// locked the state, nothing else tells that there is one. A command that follows one that was killed would remove
    /// its place, and the daemon would make it anew.
    func openLogOfDaemon() throws(DaemonError) -> Descriptor {
        let log = try openLog()
        // If another daemon holds it, that tells the same.
        _ = try? log.lock()
        return log
    }

    private var isLogInUse: Bool {
        // Where it cannot be opened, no daemon has opened it.
        guard let log = try? Descriptor(log, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else { return false }
        return (try? log.lock()) == false
    }

    /// Makes a new state of this one, which is only read. Blocks for as long as copying takes.
    ///
    /// - Parameters:
    ///   - place: An empty directory, or one that does not exist.
    ///   - keepsDeletions: Whether the new state uploads deletions too.
    /// - Throws: ``DaemonError``: `notFound` when there is no state, `busy` while a daemon uses it, `denied` when it
    ///   belongs to another user, whose index could be anything.
    package func recover(to place: StateDirectory, keepsDeletions: Bool) throws(DaemonError) -> Recovery {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            throw DaemonError(.notFound, "there is no state in \(path): \(String(cString: strerror(errno)))")
        }
        guard status.st_uid == geteuid() else {
            throw DaemonError(
                .denied,
                "the state \(path) belongs to \(TrustedPath.name(ofUser: status.st_uid)); recover it as that user, or "
                    + "copy it (cp -a), and change the copy's owner (chown -R)")
        }
        guard access(files, F_OK) == 0 else {
            throw DaemonError(.notFound, "there is no state in \(path): it has no directory files")
        }
        var recovery = StateRecovery(from: path, to: place.path, keepsDeletions: keepsDeletions)
        do throws(FileError) {
            return .state(try recovery.run())
        } catch {
            switch error.code {
            case .busy: throw DaemonError(.busy, "a daemon uses the state \(path); unmount the container first")
            case .invalid: throw DaemonError(.usage, error.detail)
            case .diskFull, .overQuota: throw DaemonError(.cannotCreate, "\(place.path): \(error.detail)")
            // Not the index is at fault.
            case .unsupported, .tooManyOpenFiles, .notPermitted, .readOnly, .exists:
                throw DaemonError(.failed, "\(path): \(error.detail)")
            case .denied: throw DaemonError(.denied, "\(path): \(error.detail)")
            default: return .filesOnly(reason: error.detail)
            }
        }
    }

    /// Copies files of this state that no index knows into a mounted container; nothing there is replaced.
    ///
    /// - Parameter paths: Below `files/`; `nil` for all of them.
    package func copyFiles(_ paths: [String]?, to mountpoint: String) throws(DaemonError) -> CopiedItems {
        try Self.copy(paths, from: files, to: mountpoint, isBacking: true)
    }

    /// Copies items from one mounted container into another, by their paths; nothing there is replaced.
    package static func copy(
        _ paths: [String], from mountpoint: String, to other: String
    ) throws(DaemonError) -> CopiedItems {
        try copy(paths, from: mountpoint, to: other, isBacking: false)
    }

    private static func copy(
        _ paths: [String]?, from source: String, to target: String, isBacking: Bool
    ) throws(DaemonError) -> CopiedItems {
        do throws(FileError) {
            var copying = try TreeRecovery(from: source, to: target, isBacking: isBacking)
            guard let paths else { return try copying.copyAll() }
            return try copying.copy(paths)
        } catch {
            throw DaemonError(.failed, "copying from \(source) to \(target): \(error.detail)")
        }
    }

    /// Removes a state that was made for a recovery, with everything in it; never what is mounted in it.
    package func remove() throws(DaemonError) {
        do throws(FileError) {
            let parent = try Descriptor("\(path)/..", O_RDONLY | O_DIRECTORY, as: path)
            let name = ItemPath(path).last.map(String.init) ?? path
            try TreeRemoval.remove(name, in: parent, owner: geteuid())
        } catch {
            guard error.code != .notFound else { return }
            throw DaemonError(.failed, "\(path) cannot be removed: \(error.detail)")
        }
    }
}

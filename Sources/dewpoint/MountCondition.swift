import ControlAPI
import Dispatch
import Foundation
import Glibc
import Model
import Synchronization

/// Why the daemon of a mounted container does not answer.
enum MountCondition {
    /// Its daemon answers only its own user and root.
    case foreign(owner: UInt32)
    /// Its daemon has exited without unmounting: every access to the mount fails.
    case dead
    /// Neither: it may be busy, or reachable only from another session.
    case silent

    /// How long to wait for the mount before it counts as not dead.
    private static let probeLimit = DispatchTimeInterval.seconds(1)

    /// The condition of a mount known before its daemon is asked; `nil` if the daemon may be asked.
    static func foreign(_ mount: MountTable.Entry) -> MountCondition? {
        guard geteuid() != 0, let owner = mount.owner, isOfAnotherUser(mount) else { return nil }
        return .foreign(owner: owner)
    }

    static func isOfAnotherUser(_ mount: MountTable.Entry) -> Bool { mount.owner ?? geteuid() != geteuid() }

    /// The condition of a mount whose daemon did not answer.
    ///
    /// Accesses the mount on a thread that is abandoned after a second. Not with `stat(2)`, which the kernel may answer
    /// from its cache.
    init(unanswering mount: MountTable.Entry) {
        let answered = DispatchSemaphore(value: 0)
        let number = Holder()
        let path = mount.mountpoint
        Thread.detachNewThread {
            var values = statvfs()
            if statvfs(path, &values) != 0 { number.value.withLock { [found = errno] in $0 = found } }
            answered.signal()
        }
        let isDead =
            answered.wait(timeout: .now() + Self.probeLimit) == .success
            && [ENOTCONN, ECONNABORTED].contains(number.value.withLock { $0 })
        self = isDead ? .dead : .silent
    }

    private final class Holder: Sendable {
        let value = Mutex<Int32>(0)
    }
}

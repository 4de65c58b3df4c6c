import ControlAPI
import Dispatch
import Foundation
import Glibc
import Model
import Synchronization

/// Why a mounted container gives no answers.
enum MountCondition {
    /// Its daemon answers only another user, and root.
    case foreign(owner: UInt32)
    /// Its daemon has ended without unmounting: everything on the mount fails.
    case dead
    /// Neither: it may be busy, or reachable only from another session.
    case silent

    /// How long the mount may take to say whether it is dead.
    private static let probeLimit = DispatchTimeInterval.seconds(1)

    /// What can be said of a mount before its daemon is asked; `nil` when it may be asked.
    static func foreign(_ mount: MountTable.Entry) -> MountCondition? {
        let user = geteuid()
        guard user != 0, let owner = mount.owner, owner != user else { return nil }
        return .foreign(owner: owner)
    }

    /// What is wrong with a mount whose daemon did not answer.
    ///
    /// The mount is asked, on a thread that is given up after a second. Not with `stat(2)`, which the kernel may answer itself.
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

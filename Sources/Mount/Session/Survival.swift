package import FileSystem
package import Model
import Synchronization

/// What a mount has that goes on when its daemon is killed: see "A daemon that is killed" in the page Architecture.
package final class Survival: Sendable {
    package let slots: HandleSlots
    let supervisor: SupervisorLink
    /// The connection of the daemon before, if this one takes its place.
    let connection: Int32?
    /// The process that announced changes for the daemon before; 0 for none.
    let earlierHelper: Int32
    /// Writes notifications that may wait; `nil` while this process does.
    private let link = Mutex<NotifierLink?>(nil)

    /// - Parameter supervisor: With what it has kept, if this daemon takes the place of another.
    /// - Throws: ``FileError`` when the memory cannot be had, or is of another version.
    package init(_ supervisor: SupervisorLink) throws(FileError) {
        self.supervisor = supervisor
        if let kept = supervisor.kept {
            slots = try HandleSlots(adopting: kept.handles)
            connection = kept.connection
        } else {
            slots = try HandleSlots()
            connection = nil
        }
        earlierHelper = slots.isAdopted ? slots.helper : 0
    }

    /// Whether this daemon takes the place of one that was killed.
    package var isResumed: Bool { connection != nil }

    var notifications: NotifierLink? { link.withLock { $0 } }

    /// The kernel has begun: from now on a daemon that is killed is replaced.
    func keep(connection: Int32) {
        supervisor.keep(connection: connection, slots)
        let started = supervisor.startNotifier()
        link.withLock { $0 = started }
    }

    /// The mount has ended, or ends with this daemon.
    func end() {
        supervisor.ends()
        link.withLock { $0 }?.end()
    }
}

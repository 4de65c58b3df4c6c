import FileSystem
import Model
import Synchronization

/// What the programs of one device have to know of each other, as the kernel does.
final class DevicePrograms: Sendable {
    private struct State {
        /// The files that are open in this run of the daemon.
        var openFiles: [HandleID: InodeNumber] = [:]
        /// How often each file was changed.
        var changeCounts: [InodeNumber: Int] = [:]
        /// The programs in the middle of an operation.
        var busyCount = 0
        var isInRecess = false
    }

    private let state = Mutex(State())
    let claims = HeldClaims()

    // MARK: Files

    func opened(_ handle: HandleID, of number: InodeNumber) { state.withLock { $0.openFiles[handle] = number } }

    func closed(_ handle: HandleID) { state.withLock { $0.openFiles[handle] = nil } }

    var openFiles: [HandleID: InodeNumber] { state.withLock { $0.openFiles } }

    func changed(_ number: InodeNumber) { state.withLock { $0.changeCounts[number, default: 0] += 1 } }

    func changeCount(of number: InodeNumber) -> Int { state.withLock { $0.changeCounts[number] ?? 0 } }

    /// Whether the kernel may forget an inode that has lost its name: no program has it open, or is about to.
    func mayForget(_ number: InodeNumber) -> Bool {
        state.withLock { $0.busyCount <= 1 && !$0.openFiles.values.contains(number) }
    }

    // MARK: The daemon

    /// Open files and claims do not survive it.
    func daemonStarted() {
        state.withLock { $0.openFiles = [:] }
        claims.endAll()
    }

    /// Keeps the programs from beginning anything: the daemon is about to end in order.
    func beginRecess() { state.withLock { $0.isInRecess = true } }

    func endRecess() { state.withLock { $0.isInRecess = false } }

    var isInRecess: Bool { state.withLock { $0.isInRecess } }

    var isBusy: Bool { state.withLock { $0.busyCount > 0 } }

    func begin() { state.withLock { $0.busyCount += 1 } }

    func end() { state.withLock { $0.busyCount -= 1 } }
}

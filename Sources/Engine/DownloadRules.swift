import Coordination
import Model
import Synchronization

/// Who may have bytes brought by reading: everybody but those who were told not to, and the programs that never may.
///
/// Whoever may not gets EAGAIN at once, as a process does on macOS that must not materialize dataless files. What is here already may be
/// read by everyone, and asking for a download outright is nobody's accident.
final class DownloadRules: Sendable {
    private let withheld = Mutex<[ProcessID: Int]>([:])
    /// As `/proc/PID/comm` has them: the first 15 bytes.
    private let programs: Set<String>
    private let isActive: Atomic<Bool>

    /// - Parameter programs: The names of programs that may not, with all that they start.
    init(programs: [String]) {
        self.programs = Set(programs.map { String(decoding: $0.utf8.prefix(15), as: UTF8.self) })
        isActive = Atomic(!programs.isEmpty)
    }

    /// From now on the process and its descendants may not, until ``restore(_:)`` was called as often.
    func withhold(from process: ProcessID) {
        withheld.withLock { withheld in
            withheld[process, default: 0] += 1
            isActive.store(true, ordering: .releasing)
        }
    }

    func restore(_ process: ProcessID) {
        withheld.withLock { withheld in
            withheld[process] = withheld[process].flatMap { $0 > 1 ? $0 - 1 : nil }
            isActive.store(!withheld.isEmpty || !programs.isEmpty, ordering: .releasing)
        }
    }

    /// - Throws: ``FileError`` with `wouldBlock` for who may not.
    func admit(_ process: Int32) throws(FileError) {
        guard isActive.load(ordering: .acquiring) else { return }
        let lineage = ProcessTable.lineage(of: ProcessID(process))
        let isWithheld =
            withheld.withLock { withheld in lineage.contains { withheld[$0] != nil } }
            || (!programs.isEmpty && lineage.contains { programs.contains(ProcessTable.command(of: $0.rawValue)) })
        if isWithheld { throw FileError(.wouldBlock, "\(ProcessTable.command(of: process)) may not download") }
    }
}

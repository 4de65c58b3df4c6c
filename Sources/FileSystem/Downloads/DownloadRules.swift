import Coordination
import Model
import Synchronization

/// Who may have bytes brought by reading: everybody but those who were told not to, and the programs that never may.
///
/// Whoever may not gets EDEADLK at once, as a process does on macOS that must not materialize dataless files. What is here already may be
/// read by everyone, and asking for a download outright is nobody's accident.
final class DownloadRules: Sendable {
    private let withheld = Mutex<[ProcessID: Int]>([:])
    private let programs: ProgramNames
    private let isActive: Atomic<Bool>
    /// Counts the changes of the rules: whom an older state admitted must be asked about again.
    private let generation = Atomic<UInt64>(0)

    /// How long it counts that a process that has started others may download.
    static let familyTime = Duration.milliseconds(100)

    /// Processes that may, with all their ancestors, and have started some that asked.
    private struct Families {
        private var members: Set<ProcessID> = []
        private var generation: UInt64 = 0
        private var since = ContinuousClock.now

        /// Those that count still.
        mutating func current(_ generation: UInt64) -> Set<ProcessID> {
            let now = ContinuousClock.now
            if generation != self.generation || since.duration(to: now) > DownloadRules.familyTime {
                members = []
                self.generation = generation
                since = now
            }
            return members
        }

        mutating func note(_ ancestors: [ProcessID], _ generation: UInt64) {
            // Judged by rules that hold no more.
            guard generation == self.generation else { return }
            members.formUnion(ancestors)
        }
    }

    private let families = Mutex(Families())

    /// - Parameter programs: The names of programs that may not, with all that they start.
    init(programs: [String]) {
        self.programs = ProgramNames(programs)
        isActive = Atomic(!programs.isEmpty)
    }

    /// From now on the process and its descendants may not, until ``restore(_:)`` was called as often.
    func withhold(from process: ProcessID) {
        withheld.withLock { withheld in
            withheld[process, default: 0] += 1
            isActive.store(true, ordering: .releasing)
            generation.add(1, ordering: .releasing)
        }
    }

    func restore(_ process: ProcessID) {
        withheld.withLock { withheld in
            withheld[process] = withheld[process].flatMap { $0 > 1 ? $0 - 1 : nil }
            isActive.store(!withheld.isEmpty || !programs.isEmpty, ordering: .releasing)
            generation.add(1, ordering: .releasing)
        }
    }

    /// Looks at who reads once for an open file and not at each read of it, and at its ancestors, some ten files of `/proc`, once in a
    /// ``familyTime``.
    ///
    /// - Throws: ``FileError`` with `downloadRefused` for who may not.
    func admit(_ process: Int32, to handle: OpenHandle) throws(FileError) {
        guard isActive.load(ordering: .acquiring) else { return }
        let admission = OpenHandle.Admission(process: process, generation: generation.load(ordering: .acquiring))
        if handle.admission == admission { return }
        let known = families.withLock { $0.current(admission.generation) }
        let ancestry = ProcessTable.ancestry(of: ProcessID(process)) { known.contains($0) }
        let isWithheld =
            withheld.withLock { withheld in ancestry.contains { withheld[$0.process] != nil } }
            || ancestry.contains { relative in
                programs.contain(relative.command) { ProcessTable.arguments(of: relative.process.rawValue) }
            }
        if isWithheld { throw FileError(.downloadRefused, "\(ProcessTable.command(of: process)) may not download") }
        handle.note(admission)
        families.withLock { $0.note(ancestry.dropFirst().map(\.process), admission.generation) }
    }
}

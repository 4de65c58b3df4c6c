import Coordination
import Model
import Synchronization

/// Which processes may download by reading: all but those excluded by a session or by program name.
///
/// Others get EDEADLK at once, as on macOS a process that must not materialize dataless files. Local bytes may be read
/// by every process, and an explicit download request is never an accident.
final class DownloadRules: Sendable {
    private let withheld = Mutex<[ProcessID: Int]>([:])
    private let programs: ProgramNames
    private let isActive: Atomic<Bool>
    /// Counts changes of the rules: a process admitted under an older state must be checked again.
    private let generation = Atomic<UInt64>(0)

    /// How long the admission of a process with child processes is remembered.
    static let familyTime = Duration.milliseconds(100)

    /// Processes that are admitted with all their ancestors and have child processes that asked.
    private struct Families {
        private var members: Set<ProcessID> = []
        private var generation: UInt64 = 0
        private var since = ContinuousClock.now

        /// The entries still valid.
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
            // Judged by outdated rules.
            guard generation == self.generation else { return }
            members.formUnion(ancestors)
        }
    }

    private let families = Mutex(Families())

    /// - Parameter programs: The names of programs that may not download; this includes their child processes.
    init(programs: [String]) {
        self.programs = ProgramNames(programs)
        isActive = Atomic(!programs.isEmpty)
    }

    /// Excludes the process and its descendants until ``restore(_:)`` has been called as often.
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

    /// Checks a program that opens a file which is not local, in order to read it.
    ///
    /// Indexers and thumbnailers are refused the open already: some map files, and a page that is refused would kill
    /// them with SIGBUS, as it did tumblerd.
    /// - Throws: ``FileError`` with `downloadRefused` if the program is on the list, or one of its ancestors.
    func admitOpening(thread: Int32) throws(FileError) {
        guard !programs.isEmpty else { return }
        let generation = generation.load(ordering: .acquiring)
        let process = ProcessTable.process(ofThread: thread)
        let known = families.withLock { $0.current(generation) }
        let ancestry = ProcessTable.ancestry(of: ProcessID(process)) { known.contains($0) }
        let isListed = ancestry.contains { relative in
            programs.contain(relative.command) { ProcessTable.arguments(of: relative.process.rawValue) }
        }
        if isListed { throw FileError(.downloadRefused, "\(ancestry.first?.command ?? "") may not download") }
    }

    /// Checks the reader once for each open file rather than at each read, and its ancestors, some ten files of
    /// `/proc`, once in a ``familyTime``.
    ///
    /// - Parameters:
    ///   - thread: The thread of the process that reads.
    ///   - end: Where the read ends, as an offset in the file.
    /// - Throws: ``FileError`` with `downloadRefused` if the process, or the thread, may not download.
    func admit(_ process: Int32, thread: Int32, readingTo end: Int64, to handle: OpenHandle) throws(FileError) {
        guard isActive.load(ordering: .acquiring) else { return }
        let generation = generation.load(ordering: .acquiring)
        if let admission = handle.admission, admission.covers(process, thread: thread, generation) { return }
        let known = families.withLock { $0.current(generation) }
        let ancestry = ProcessTable.ancestry(of: ProcessID(process)) { known.contains($0) }
        let command = ancestry.first?.command ?? ""
        let hasNamedThreads = programs.distinguishThreads(of: command)
        let isWithheld =
            withheld.withLock { withheld in ancestry.contains { withheld[$0.process] != nil } }
            || ancestry.contains { relative in
                programs.contain(relative.command) { ProcessTable.arguments(of: relative.process.rawValue) }
            }
            || hasNamedThreads
                && programs.contain(thread: ProcessTable.command(of: thread), of: command, readingTo: end)
        if isWithheld { throw FileError(.downloadRefused, "\(command) may not download") }
        handle.note(
            OpenHandle.Admission(process: process, thread: hasNamedThreads ? thread : nil, generation: generation))
        families.withLock { $0.note(ancestry.dropFirst().map(\.process), generation) }
    }
}

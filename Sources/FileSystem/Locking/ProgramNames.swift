/// Names of programs, some with an argument that they must have been started with, or with the name of a thread; see
/// ``FileSystemOptions/nonDownloadingPrograms``.
///
/// The threads of a GLib program's pool (`pool-PROGRAM`) do all that it does in the background. Of their reads only
/// those of a file's head count (``headByteLimit``): that is how pictures are loaded and types are guessed, while
/// copying begins with more.
struct ProgramNames {
    /// The length to which the kernel cuts a program's name. Related: `TASK_COMM_LEN`, proc_pid_comm(5).
    private static let nameByteLimit = 15

    private var plain: Set<String> = []
    private var arguments: [String: Set<String>] = [:]
    private var threads: [String: Set<String>] = [:]

    /// The longest first read that is not taken for the beginning of a copy. GLib loads pictures in pieces of 4 KiB,
    /// which the kernel's read-ahead makes 16 KiB; it copies in pieces of 64 KiB and more.
    static let headByteLimit: Int64 = 32 << 10

    init(_ names: [String]) {
        for name in names {
            let parts = name.split(separator: "/", maxSplits: 1)
            guard let program = parts.first else { continue }
            let words = program.split(separator: "#", maxSplits: 1)
            if parts.count == 2 {
                arguments[Self.kept(program), default: []].insert(String(parts[1]))
            } else if words.count == 2 {
                threads[Self.kept(words[0]), default: []].insert(Self.kept(words[1]))
            } else {
                plain.insert(Self.kept(program))
            }
        }
    }

    private static func kept(_ name: Substring) -> String {
        String(decoding: name.utf8.prefix(nameByteLimit), as: UTF8.self)
    }

    var isEmpty: Bool { plain.isEmpty && arguments.isEmpty && threads.isEmpty }

    /// Whether the threads of a program are told apart.
    func distinguishThreads(of command: String) -> Bool { threads[command] != nil }

    /// Whether a thread of a program matches by its name.
    /// - Parameters:
    ///   - thread: As in `/proc/PID/task/TID/comm`.
    ///   - end: Where its first read of a file ends, as an offset in the file.
    func contain(thread: String, of command: String, readingTo end: Int64) -> Bool {
        guard let names = threads[command], names.contains(thread) else { return false }
        return !thread.hasPrefix("pool-") || end <= Self.headByteLimit
    }

    /// Whether a process matches.
    /// - Parameters:
    ///   - command: As in `/proc/PID/comm`.
    ///   - words: Its arguments; called only where they matter.
    func contain(_ command: String, words: () -> [String]) -> Bool {
        if plain.contains(command) { return true }
        guard let wanted = arguments[command] else { return false }
        return words().contains { word in wanted.contains { word == $0 || word.hasSuffix("/" + $0) } }
    }
}

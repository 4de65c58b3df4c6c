/// Names of programs, some with an argument that they must have been started with; see
/// ``FileSystemOptions/nonDownloadingPrograms``.
struct ProgramNames {
    /// The length to which the kernel cuts a program's name. Related: `TASK_COMM_LEN`, proc_pid_comm(5).
    private static let nameByteLimit = 15

    private var plain: Set<String> = []
    private var arguments: [String: Set<String>] = [:]

    init(_ names: [String]) {
        for name in names {
            let parts = name.split(separator: "/", maxSplits: 1)
            guard let program = parts.first else { continue }
            let kept = String(decoding: program.utf8.prefix(Self.nameByteLimit), as: UTF8.self)
            if parts.count == 2 { arguments[kept, default: []].insert(String(parts[1])) } else { plain.insert(kept) }
        }
    }

    var isEmpty: Bool { plain.isEmpty && arguments.isEmpty }

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

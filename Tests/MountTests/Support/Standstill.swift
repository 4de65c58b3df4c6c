import Foundation

/// What the programs of a test were doing shortly before a time limit passed: whether they were running, and where they
/// were waiting.
///
/// A hang that happens once in a thousand runs leaves no other evidence.
enum Standstill {
    /// How long before its time limit a program is inspected.
    static let lead = Duration.seconds(1)

    /// One line about every process that uses the test directory in `arguments`: the daemons and the program itself.
    static func report(on arguments: [String]) -> String {
        guard let place = arguments.lazy.compactMap(Leftovers.directory(of:)).first else { return "" }
        let processes = Leftovers.processes(mentioning: place).map { describe("/proc/\($0)") }
        return (processes + ["load \(text("/proc/loadavg"))"]).joined(separator: "; ")
    }

    private static func describe(_ process: String) -> String {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: process + "/task")) ?? []
        let places = Dictionary(grouping: threads) { thread in
            let task = process + "/task/\(thread)"
            let wait = text(task + "/wchan")
            return "\(text(task + "/comm")) in \(wait == "0" ? "no wait" : wait)"
        }.map { "\($1.count) \($0)" }.sorted()
        let name = "process \(process.dropFirst("/proc/".count)) \(text(process + "/comm"))"
        return "\(name) used \(processorSeconds(of: process)) s, \(places.joined(separator: ", "))"
    }

    /// User and system time. Related: proc_pid_stat(5), fields 14 and 15.
    private static func processorSeconds(of process: String) -> Double {
        // The command, in parentheses, may contain spaces.
        let fields = text(process + "/stat").split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private static func text(_ path: String) -> String {
        ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "?").trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

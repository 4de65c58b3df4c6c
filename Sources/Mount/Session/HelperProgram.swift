import Glibc
import Linux
import Model

/// libfuse's set-uid helper, which mounts and unmounts for users other than root.
enum HelperProgram {
    /// Runs a program of `PATH` and waits for it. It shares this process's output.
    ///
    /// - Returns: Its exit status, or `nil` when there is no such program.
    static func run(_ name: String, _ arguments: [String]) -> Int32? {
        var words: [UnsafeMutablePointer<CChar>?] = ([name] + arguments).map { strdup($0) }
        words.append(nil)
        defer { words.forEach { free($0) } }
        var process: pid_t = 0
        guard posix_spawnp(&process, name, nil, nil, words, environ) == 0 else { return nil }
        guard let status = SystemCalls.wait(for: process) else { return 0 }
        return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + status & 0x7f
    }

    static func isInstalled(_ name: String) -> Bool {
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        return path.splitBytes(at: UInt8(ascii: ":")).contains { access("\($0)/\(name)", X_OK) == 0 }
    }
}

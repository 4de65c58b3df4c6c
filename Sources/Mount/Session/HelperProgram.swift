import Glibc
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
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            // ECHILD: another part of this process reaps all children, so the status stays unknown.
            if errno != EINTR { return 0 }
        }
        return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + status & 0x7f
    }

    static func isInstalled(_ name: String) -> Bool {
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        return path.splitBytes(at: UInt8(ascii: ":")).contains { access("\($0)/\(name)", X_OK) == 0 }
    }
}

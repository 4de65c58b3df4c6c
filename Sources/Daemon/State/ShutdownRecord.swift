import Foundation
import Glibc

/// What a daemon does while it stops, for commands that wait for it: the control API has ended by then.
///
///     STATE/ending     PROCESS REASON
package struct ShutdownRecord: Sendable {
    private let path: String

    package init(state: String) { path = "\(state)/ending" }

    /// - Parameter reason: As in "the daemon is …".
    func record(_ reason: String) {
        // Without the record, the wait is shown without a reason.
        try? Data("\(getpid()) \(reason)\n".utf8).write(to: URL(filePath: path), options: .atomic)
    }

    func remove() { unlink(path) }

    /// The record of a process; `nil` if it has none, or this user may not read it.
    package func reason(of process: Int32) -> String? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8), let blank = text.firstIndex(of: " "),
            Int32(text[..<blank]) == process
        else { return nil }
        return text[blank...].trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

// Which of the two C modules `stat` belongs to depends on which is loaded first.
import CDispatch
import Control
import Glibc
import Logging

/// Lines for the journal of systemd: with the priority in front, as sd-daemon(3) wants it, and without the time, which
/// the journal adds.
enum JournalLine {
    /// Whether standard error goes to the journal: `JOURNAL_STREAM` names its device and inode, see systemd.exec(5). A
    /// daemon in the background inherits the variable, but logs to a file.
    static let isUsed = leads(to: getenv("JOURNAL_STREAM").map { String(cString: $0) }, STDERR_FILENO)

    static func leads(to stream: String?, _ descriptor: Int32) -> Bool {
        var status = stat()
        guard let stream, fstat(descriptor, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    /// For example `<4>sync: the store is full; trying again later error=…`.
    static func text(_ event: LogEvent, label: String, metadata: Logger.Metadata) -> String {
        let merged = metadata.merging(event.metadata ?? [:]) { $1 }
        let values = merged.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        return "<\(event.level.syslogNumber)>\(label): \(event.message)\(values)"
    }

    /// Writes a line at once: lines of several threads do not mix.
    static func write(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        // A line is lost if the journal is gone.
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}

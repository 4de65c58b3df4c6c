import CFuse
import Glibc
import Logging
import Synchronization

/// libfuse's messages: forwarded to the log, and collected during a mount, so that its error can quote them.
///
/// libfuse has one log function for the whole process.
enum LibfuseLog {
    private struct State {
        var logger: Logger?
        var lines: [String]?
    }

    private static let state = Mutex(State())
    /// The longest message, in bytes; longer ones are cut.
    private static let lineLimit = 512

    static func use(_ logger: Logger) {
        state.withLock { $0.logger = logger }
        fuse_set_log_func { level, format, arguments in
            guard let format, let arguments else { return }
            let line = withUnsafeTemporaryAllocation(of: CChar.self, capacity: LibfuseLog.lineLimit) { buffer in
                vsnprintf(buffer.baseAddress!, buffer.count, format, arguments)
                return String(cString: buffer.baseAddress!)
            }
            LibfuseLog.write(line.last == "\n" ? String(line.dropLast()) : line, level)
        }
    }

    /// Runs `body` and returns its result with libfuse's messages during the call.
    static func collecting<Value>(_ body: () -> Value) -> (Value, said: [String]) {
        state.withLock { $0.lines = [] }
        let value = body()
        let lines = state.withLock { state in
            defer { state.lines = nil }
            return state.lines ?? []
        }
        return (value, lines)
    }

    private static func write(_ line: String, _ level: fuse_log_level) {
        let logger = state.withLock { state in
            state.lines?.append(line)
            return state.logger
        }
        logger?.log(level: level.rawValue <= FUSE_LOG_WARNING.rawValue ? .warning : .debug, "libfuse: \(line)")
    }
}

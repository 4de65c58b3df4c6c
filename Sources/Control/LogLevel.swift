package import Logging
import Synchronization

/// The level of a daemon's log, which can be changed while it runs: all loggers of the daemon share one.
package final class LogLevel: Sendable {
    private let number: Atomic<Int>

    package init(_ level: Logger.Level) { number = Atomic(Self.number(of: level)) }

    package var level: Logger.Level {
        get { Logger.Level.allCases[number.load(ordering: .relaxed)] }
        set { number.store(Self.number(of: newValue), ordering: .relaxed) }
    }

    private static func number(of level: Logger.Level) -> Int { Logger.Level.allCases.firstIndex(of: level) ?? 0 }
}

extension Logger.Level {
    /// The level of a name, such as `debug`, or of a number of syslog(3), 0 to 7: 0 to 2 are `critical`.
    package init?(nameOrNumber text: String) {
        if let level = Logger.Level(rawValue: text.lowercased()) {
            self = level
            return
        }
        switch text {
        case "0", "1", "2": self = .critical
        case "3": self = .error
        case "4": self = .warning
        case "5": self = .notice
        case "6": self = .info
        case "7": self = .debug
        default: return nil
        }
    }

    /// The number of syslog(3) for a line of this level.
    package var syslogNumber: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}

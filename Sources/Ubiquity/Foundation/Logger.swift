/// Writes log messages of a subsystem and category to standard error.
///
/// Differences from Apple's: all values are written, those marked `private` too, since standard error belongs to the
/// user. A file that also imports swift-log, whose type has the same name, says which one it means:
/// `Ubiquity.Logger`.
public struct Logger: Sendable {
    private let log: OSLog

    /// - Parameters:
    ///   - subsystem: In reverse DNS notation; written before each message.
    ///   - category: Written before each message.
    public init(subsystem: String, category: String) { log = OSLog(subsystem: subsystem, category: category) }

    /// A logger without a category.
    public init() { log = .default }

    /// A logger that writes as a log does.
    public init(_ logObj: OSLog) { log = logObj }

    /// Writes a message of the default kind.
    public func log(_ message: OSLogMessage) { log(level: .default, message) }
    /// Writes a message of a kind.
    public func log(level: OSLogType, _ message: OSLogMessage) { log.write(level, message.text) }
    /// Writes a message to debug.
    public func trace(_ message: OSLogMessage) { log(level: .debug, message) }
    /// Writes a message to debug.
    public func debug(_ message: OSLogMessage) { log(level: .debug, message) }
    /// Writes a message for information.
    public func info(_ message: OSLogMessage) { log(level: .info, message) }
    /// Writes a message of the default kind.
    public func notice(_ message: OSLogMessage) { log(level: .default, message) }
    /// Writes an error.
    public func warning(_ message: OSLogMessage) { log(level: .error, message) }
    /// Writes an error.
    public func error(_ message: OSLogMessage) { log(level: .error, message) }
    /// Writes a fault.
    public func critical(_ message: OSLogMessage) { log(level: .fault, message) }
    /// Writes a fault.
    public func fault(_ message: OSLogMessage) { log(level: .fault, message) }
}

/// Who may see a value of a log message. Accepted, and without effect.
public struct OSLogPrivacy: Sendable {
    /// How a private value is replaced.
    public enum Mask: Sendable {
        case hash, none
    }

    /// As the type of the value says.
    public static let auto = OSLogPrivacy()
    /// Everybody.
    public static let `public` = OSLogPrivacy()
    /// Nobody else.
    public static let `private` = OSLogPrivacy()
    /// Nobody else, whatever the settings.
    public static let sensitive = OSLogPrivacy()
    /// Nobody else, replaced by a mask.
    public static func `private`(mask: Mask) -> OSLogPrivacy { OSLogPrivacy() }
    /// Nobody else, whatever the settings, replaced by a mask.
    public static func sensitive(mask: Mask) -> OSLogPrivacy { OSLogPrivacy() }
    /// As the type of the value says, replaced by a mask.
    public static func auto(mask: Mask) -> OSLogPrivacy { OSLogPrivacy() }
}

/// A message for ``Logger``: a text with values, each of which may say who may see it.
public struct OSLogMessage: ExpressibleByStringInterpolation, Sendable {
    let text: String

    /// A text without values.
    public init(stringLiteral value: String) { text = value }
    /// A text with values.
    public init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

    /// Puts a message together.
    public struct Interpolation: StringInterpolationProtocol {
        var text = ""

        /// An empty message.
        public init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity) }
        /// Adds what is between the values.
        public mutating func appendLiteral(_ literal: String) { text += literal }
        /// Adds a value.
        public mutating func appendInterpolation<Value>(
            _ value: @autoclosure () -> Value, privacy: OSLogPrivacy = .auto
        ) {
            text += String(describing: value())
        }
        /// Adds a value, or `nil`.
        public mutating func appendInterpolation<Value>(
            _ value: @autoclosure () -> Value?, privacy: OSLogPrivacy = .auto
        ) {
            text += value().map { String(describing: $0) } ?? "nil"
        }
    }
}

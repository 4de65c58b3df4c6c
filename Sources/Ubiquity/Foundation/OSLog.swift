/// The kind of a log message.
public struct OSLogType: RawRepresentable, Hashable, Sendable {
    /// The same value as Apple's.
    public let rawValue: UInt8
    /// The value with this raw value.
    public init(_ rawValue: UInt8) { self.rawValue = rawValue }
    /// The value with this raw value.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A level, as in Apple's API.
    public static let `default` = OSLogType(0x00)
    /// A level, as in Apple's API.
    public static let info = OSLogType(0x01)
    /// A level, as in Apple's API.
    public static let debug = OSLogType(0x02)
    /// A level, as in Apple's API.
    public static let error = OSLogType(0x10)
    /// A level, as in Apple's API.
    public static let fault = OSLogType(0x11)

    fileprivate var name: String {
        switch self {
        case .info: "info"
        case .debug: "debug"
        case .error: "error"
        case .fault: "fault"
        default: "default"
        }
    }
}

/// A subsystem and a category for log messages.
///
/// Differences from Apple's: messages are written to standard error.
public final class OSLog: NSObject, Sendable {
    private let prefix: String
    private let isEnabled: Bool

    /// - Parameters:
    ///   - subsystem: In reverse DNS notation; written before each message.
    ///   - category: Written before each message.
    public init(subsystem: String, category: String) {
        prefix = "[\(subsystem):\(category)] "
        isEnabled = true
    }

    private init(isEnabled: Bool) {
        prefix = ""
        self.isEnabled = isEnabled
    }

    /// The log of messages without a category.
    public static let `default` = OSLog(isEnabled: true)
    /// Writes nothing.
    public static let disabled = OSLog(isEnabled: false)

    /// Whether messages of that kind are written: as on Apple's systems, not those to debug, unless the environment
    /// has `OS_ACTIVITY_DT_MODE`.
    public func isEnabled(type: OSLogType) -> Bool { isEnabled && (type != .debug || Self.isDebugging) }

    private static let isDebugging = ProcessInfo.processInfo.environment["OS_ACTIVITY_DT_MODE"] != nil

    fileprivate func write(_ type: OSLogType, _ message: StaticString, _ arguments: [any CVarArg]) {
        guard isEnabled(type: type) else { return }
        let format = OSLogFormat("\(message)")
        write(type, String(format: format.plain, arguments: arguments))
    }

    func write(_ type: OSLogType, _ text: @autoclosure () -> String) {
        guard isEnabled(type: type) else { return }
        NSLog("%@", "\(prefix)\(type.name): \(text())")
    }
}

/// A format of os_log with the annotations taken out, such as `{public}` in `%{public}@`.
///
/// All values are written, those marked `private` too: standard error belongs to the user.
struct OSLogFormat: Equatable {
    let plain: String

    init(_ format: String) { plain = format.replacing(/%\{[^}]*\}/, with: "%") }
}

/// Writes a message to standard error.
///
/// - Parameter message: A format of `String(format:)`; annotations such as `{public}` are accepted and have no effect.
public func os_log(
    _ message: StaticString, dso: UnsafeRawPointer? = nil, log: OSLog = .default, type: OSLogType = .default,
    _ args: any CVarArg...
) {
    log.write(type, message, args)
}

/// Writes a message to standard error.
///
/// - Parameter message: A format of `String(format:)`; annotations such as `{public}` are accepted and have no effect.
public func os_log(
    _ type: OSLogType, dso: UnsafeRawPointer? = nil, log: OSLog = .default, _ message: StaticString,
    _ args: any CVarArg...
) {
    log.write(type, message, args)
}

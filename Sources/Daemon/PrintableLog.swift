import Control
import Logging
import Model

/// Writes log lines to standard error that are safe to show on a terminal: names come from other devices, and `dewpoint
/// mount` shows the end of the log.
struct PrintableLog: LogHandler {
    private var base: StreamLogHandler
    private let label: String
    private let shared: LogLevel
    /// The level of one logger that differs from the others.
    private var own: Logger.Level?

    init(label: String, level: LogLevel) {
        base = StreamLogHandler.standardError(label: label)
        self.label = label
        shared = level
    }

    var logLevel: Logger.Level {
        get { own ?? shared.level }
        set { own = newValue }
    }

    var metadata: Logger.Metadata {
        get { base.metadata }
        set { base.metadata = Self.printable(newValue) }
    }

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { base[metadataKey: key] }
        set { base[metadataKey: key] = newValue.map(Self.printable) }
    }

    func log(event: LogEvent) {
        var event = event
        event.message = "\(event.message.description.printable)"
        event.metadata = event.metadata.map(Self.printable)
        if JournalLine.isUsed {
            JournalLine.write(JournalLine.text(event, label: label, metadata: base.metadata))
        } else {
            base.log(event: event)
        }
    }

    private static func printable(_ metadata: Logger.Metadata) -> Logger.Metadata { metadata.mapValues(printable) }

    private static func printable(_ value: Logger.MetadataValue) -> Logger.MetadataValue {
        switch value {
        case .string(let text): .string(text.printable)
        case .stringConvertible(let text): .string(text.description.printable)
        case .dictionary(let values): .dictionary(printable(values))
        case .array(let values): .array(values.map(printable))
        }
    }
}

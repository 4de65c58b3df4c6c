/// Sets the level of the log.
package struct LogLevelRequest: ControlOrder {
    package typealias Answer = LogLevelReport

    package static let route = "/v1/log-level"
    package static let answers =
        "the same, as it is from now on: `trace`, `debug`, `info`, `notice`, `warning`, `error`, `critical`, or a "
        + "number of syslog(3), 0 to 7"
    package static let example = Self(level: "debug")

    /// `trace` to `critical`, or the number of syslog(3), 0 to 7.
    package var level: String

    package init(level: String) { self.level = level }

    /// The names of all levels, least severe first.
    package static let names = ["trace", "debug", "info", "notice", "warning", "error", "critical"]

    /// Whether a text is a level: one of ``names``, or 0 to 7.
    package static func isLevel(_ text: String) -> Bool {
        names.contains(text.lowercased()) || text.count == 1 && Int(text).map { 0...7 ~= $0 } ?? false
    }
}

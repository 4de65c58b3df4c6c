/// The level of the log.
package struct CurrentLogLevelRequest: PlainQuestion {
    package typealias Answer = LogLevelReport

    package static let route = "/v1/log-level"
    package static let answers = #"`{"level":"info"}`: the least severe level that is logged"#

    package init() {}
}

/// The answer of ``CurrentLogLevelRequest`` and ``LogLevelRequest``.
package struct LogLevelReport: Codable, Hashable, Sendable {
    /// The least severe level that is logged: `trace` to `critical`.
    package var level: String

    package init(level: String) { self.level = level }
}

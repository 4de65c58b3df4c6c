/// Whether the daemon does its work.
package struct HealthRequest: PlainQuestion {
    package typealias Answer = PlainText

    package static let route = "/healthz"
    package static let answers = "`ok`, or 503 and the reason, as text"

    package init() {}
}

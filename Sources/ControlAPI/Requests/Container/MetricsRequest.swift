/// The metrics of the daemon.
package struct MetricsRequest: PlainQuestion {
    package typealias Answer = PlainText

    package static let route = "/metrics"
    package static let answers = "the metrics, as text of Prometheus"

    package init() {}
}

/// One value of a metric at one moment.
package struct MetricSample: Sendable {
    package enum Value: Sendable {
        case number(Double)
        case histogram(Histogram)
    }

    /// Counts of durations by upper bound; see ``LatencyBuckets``.
    package struct Histogram: Sendable {
        /// The number of durations up to each bound, and above the last one: not cumulative.
        package var counts: [Int]
        package var sumSeconds: Double
    }

    package var metric: Metric
    /// The values of ``Metric/labels``, in their order.
    package var labels: [String]
    package var value: Value

    package init(_ metric: Metric, _ number: some BinaryInteger) { self.init(metric, [], Double(number)) }

    package init(_ metric: Metric, _ labels: [String], _ number: some BinaryInteger) {
        self.init(metric, labels, Double(number))
    }

    package init(_ metric: Metric, _ labels: [String] = [], seconds: Double) { self.init(metric, labels, seconds) }

    private init(_ metric: Metric, _ labels: [String], _ number: Double) {
        self.metric = metric
        self.labels = labels
        value = .number(number)
    }

    init(_ metric: Metric, _ labels: [String], _ histogram: Histogram) {
        self.metric = metric
        self.labels = labels
        value = .histogram(histogram)
    }
}

/// The fixed upper bounds of all histograms.
package enum LatencyBuckets {
    /// In nanoseconds: from answers out of memory to requests over a bad link.
    package static let bounds: [Int64] = [
        10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 2_500_000, 10_000_000, 25_000_000, 100_000_000,
        250_000_000, 1_000_000_000, 2_500_000_000, 10_000_000_000, 60_000_000_000,
    ]
    /// The number of ``bounds``, and one for everything above.
    static let count = 16
}

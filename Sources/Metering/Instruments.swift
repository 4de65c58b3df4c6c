package import CoreMetrics

/// The instruments of a mount that its parts feed. Gauges are not among them: they are read when metrics are asked for.
package struct Instruments: Sendable {
    /// Gives every counter, by a lookup: for what happens seldom.
    package let registry: MetricRegistry
    package let operations: OperationInstruments
    package let requests: RequestInstruments
    package let retries: RetryInstruments

    package init(_ registry: MetricRegistry) {
        self.registry = registry
        operations = OperationInstruments(registry)
        requests = RequestInstruments(registry)
        retries = RetryInstruments(registry)
        // Those with labels begin with their first value.
        for metric in Metric.allCases where metric.kind == .counter && metric.labels.isEmpty {
            _ = registry.counter(metric)
        }
    }
}

/// What is tried again after a failure.
package struct RetryInstruments: Sendable {
    /// Single requests to a bucket.
    package let request: Counter
    /// Uploads of a batch of changes.
    package let upload: Counter
    /// Looks for commits of other devices.
    package let follow: Counter
    /// Ranges of a download.
    package let download: Counter

    package init(_ registry: MetricRegistry) {
        request = registry.counter(.retries, ["request"])
        upload = registry.counter(.retries, ["upload"])
        follow = registry.counter(.retries, ["follow"])
        download = registry.counter(.retries, ["download"])
    }
}

/// Requests to the store.
package struct RequestInstruments: Sendable {
    package enum Kind: String, CaseIterable, Sendable { case get, put, create, list, delete, head }

    private let timers: [Kind: CoreMetrics.Timer]
    private let registry: MetricRegistry
    package let downloadedBytes: Counter
    package let uploadedBytes: Counter

    init(_ registry: MetricRegistry) {
        self.registry = registry
        timers = Dictionary(
            uniqueKeysWithValues: Kind.allCases.map { ($0, registry.timer(.requestSeconds, [$0.rawValue])) })
        downloadedBytes = registry.counter(.downloadedBytes)
        uploadedBytes = registry.counter(.uploadedBytes)
    }

    package func ended(_ kind: Kind, after duration: Duration) {
        timers[kind]?.recordNanoseconds(Int64(clamping: duration / .nanoseconds(1)))
    }

    /// - Parameter error: The name of the error's kind.
    package func failed(_ kind: Kind, _ error: String) {
        registry.counter(.requestErrors, [kind.rawValue, error]).increment()
    }
}

extension Int64 {
    /// Not exact beyond 2^53, which is 104 days in nanoseconds.
    fileprivate init(clamping value: Double) { self = value >= 0x1p62 ? .max : Int64(Swift.max(0, value)) }
}

package import CoreMetrics
import Synchronization

/// The metrics of one mount, behind the API of swift-metrics: a factory to be named where an instrument is made.
///
/// Not the factory of the whole process (`MetricsSystem.bootstrap`): tests and simulations run several devices in one.
/// Instruments are made once, when the mount starts or at a first error; feeding one is an atomic addition, without a
/// lock, a lookup or an allocation.
package final class MetricRegistry: MetricsFactory, Sendable {
    private enum Source: Sendable {
        case counter(CounterValue)
        case histogram(LatencyHistogram)
    }

    private struct Key: Hashable {
        let label: String
        let values: [String]
    }

    private let sources = Mutex<[Key: Source]>([:])

    package init() {}

    /// The values of all counters, and of the histograms that have any.
    package var samples: [MetricSample] {
        sources.withLock { $0 }.compactMap { key, source in
            guard let metric = Metric(name: key.label) else { return nil }
            switch source {
            case .counter(let counter): return MetricSample(metric, key.values, counter.value)
            case .histogram(let histogram): return histogram.values.map { MetricSample(metric, key.values, $0) }
            }
        }
    }

    // MARK: Instruments

    package func counter(_ metric: Metric, _ labels: [String] = []) -> Counter {
        Counter(label: metric.name, dimensions: Self.dimensions(metric, labels), factory: self)
    }

    package func timer(_ metric: Metric, _ labels: [String] = []) -> Timer {
        Timer(label: metric.name, dimensions: Self.dimensions(metric, labels), factory: self)
    }

    private static func dimensions(_ metric: Metric, _ labels: [String]) -> [(String, String)] {
        precondition(labels.count == metric.labels.count, "\(metric) has other labels")
        return Array(zip(metric.labels, labels))
    }

    // MARK: MetricsFactory

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let fresh = CounterValue()
        let key = Key(label: label, values: dimensions.map(\.1))
        return sources.withLock { sources in
            if case .counter(let known) = sources[key] { return known }
            sources[key] = .counter(fresh)
            return fresh
        }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        let fresh = LatencyHistogram()
        let key = Key(label: label, values: dimensions.map(\.1))
        return sources.withLock { sources in
            if case .histogram(let known) = sources[key] { return known }
            sources[key] = .histogram(fresh)
            return fresh
        }
    }

    /// Gauges are not kept: their values are read from the mount when they are asked for.
    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        NOOPMetricsHandler.instance
    }

    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
}

/// A count that only grows.
final class CounterValue: CounterHandler {
    private let count = Atomic<Int64>(0)

    var value: Int64 { count.load(ordering: .relaxed) }

    func increment(by amount: Int64) { count.wrappingAdd(amount, ordering: .relaxed) }

    func reset() { count.store(0, ordering: .relaxed) }
}

/// Durations, counted by ``LatencyBuckets``.
final class LatencyHistogram: TimerHandler {
    private let bounds = InlineArray<15, Int64> { LatencyBuckets.bounds[$0] }
    private let counts = InlineArray<16, Atomic<Int>> { _ in Atomic(0) }
    private let sum = Atomic<Int64>(0)

    func recordNanoseconds(_ duration: Int64) {
        var bucket = 0
        while bucket < bounds.count, duration > bounds[bucket] { bucket += 1 }
        counts[bucket].wrappingAdd(1, ordering: .relaxed)
        sum.wrappingAdd(duration, ordering: .relaxed)
    }

    /// `nil` while it is empty.
    var values: MetricSample.Histogram? {
        let counts = (0..<LatencyBuckets.count).map { self.counts[$0].load(ordering: .relaxed) }
        guard counts.contains(where: { $0 > 0 }) else { return nil }
        return MetricSample.Histogram(counts: counts, sumSeconds: Double(sum.load(ordering: .relaxed)) / 1e9)
    }
}

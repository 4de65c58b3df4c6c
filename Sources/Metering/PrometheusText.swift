/// Metrics in the text format of Prometheus, version 0.0.4.
package enum PrometheusText {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// - Parameter samples: In any order.
    package static func text(_ samples: [MetricSample]) -> String {
        let groups = Dictionary(grouping: samples, by: \.metric)
        var text = ""
        for metric in Metric.allCases {
            guard let samples = groups[metric] else { continue }
            text += "# HELP \(metric.name) \(metric.help)\n# TYPE \(metric.name) \(metric.kind.rawValue)\n"
            for sample in samples.sorted(by: { $0.labels.lexicographicallyPrecedes($1.labels) }) {
                write(sample, to: &text)
            }
        }
        return text
    }

    private static func write(_ sample: MetricSample, to text: inout String) {
        let name = sample.metric.name
        let labels = zip(sample.metric.labels, sample.labels).map { "\($0)=\"\(escaped($1))\"" }
        switch sample.value {
        case .number(let value): text += "\(name)\(list(labels)) \(number(value))\n"
        case .histogram(let histogram):
            var count = 0
            for (index, inBucket) in histogram.counts.enumerated() {
                count += inBucket
                let bound = index < LatencyBuckets.bounds.count ? seconds(LatencyBuckets.bounds[index]) : "+Inf"
                text += "\(name)_bucket\(list(labels + ["le=\"\(bound)\""])) \(count)\n"
            }
            text += "\(name)_sum\(list(labels)) \(number(histogram.sumSeconds))\n"
            text += "\(name)_count\(list(labels)) \(count)\n"
        }
    }

    private static func list(_ labels: [String]) -> String {
        labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}"
    }

    /// Without an exponent for whole numbers.
    private static func number(_ value: Double) -> String {
        Int64(exactly: value).map(String.init) ?? "\(value)"
    }

    /// For example `0.00025`.
    private static func seconds(_ nanoseconds: Int64) -> String {
        let fraction = nanoseconds % 1_000_000_000
        let whole = nanoseconds / 1_000_000_000
        guard fraction > 0 else { return "\(whole)" }
        var digits = String(fraction)
        digits = String(repeating: "0", count: 9 - digits.count) + digits
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(whole).\(digits)"
    }

    private static func escaped(_ value: String) -> String {
        var escaped = ""
        for character in value.unicodeScalars {
            switch character {
            case "\\": escaped += #"\\"#
            case "\"": escaped += #"\""#
            case "\n": escaped += #"\n"#
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}

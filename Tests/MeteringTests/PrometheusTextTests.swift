import CoreMetrics
import Testing

@testable import Metering

@Suite struct PrometheusTextTests {
    @Test func `a gauge and a counter have their help, type and value`() {
        let registry = MetricRegistry()
        registry.counter(.evictions).increment(by: 3)
        let text = PrometheusText.text(registry.samples + [MetricSample(.items, 100_000)])
        #expect(
            text == """
                # HELP dewpoint_items Files, directories and links in the container, as far as this device knows.
                # TYPE dewpoint_items gauge
                dewpoint_items 100000
                # HELP dewpoint_evictions_total Files whose local bytes were evicted, for a user or by the limits of the cache.
                # TYPE dewpoint_evictions_total counter
                dewpoint_evictions_total 3

                """)
    }

    @Test func `quotes, backslashes and line ends in labels are escaped`() {
        let text = PrometheusText.text([MetricSample(.buildInformation, ["a\"b\\c\nd"], 1)])
        #expect(text.hasSuffix(#"dewpoint_build_info{version="a\"b\\c\nd"} 1"# + "\n"))
    }

    @Test func `buckets are cumulative, and count and sum agree with them`() {
        let registry = MetricRegistry()
        let timer = registry.timer(.requestSeconds, ["get"])
        timer.recordNanoseconds(10_000)
        timer.recordNanoseconds(10_001)
        timer.recordNanoseconds(90_000_000_000)
        let lines = PrometheusText.text(registry.samples).split(separator: "\n").dropFirst(2).map(String.init)
        let name = "dewpoint_store_request_duration_seconds"
        #expect(lines.count == LatencyBuckets.count + 2)
        #expect(lines[0] == name + #"_bucket{request="get",le="0.00001"} 1"#)
        #expect(lines[1] == name + #"_bucket{request="get",le="0.000025"} 2"#)
        #expect(lines[14] == name + #"_bucket{request="get",le="60"} 2"#)
        #expect(lines[15] == name + #"_bucket{request="get",le="+Inf"} 3"#)
        #expect(lines[16] == name + #"_sum{request="get"} 90.000020001"#)
        #expect(lines[17] == name + #"_count{request="get"} 3"#)
    }

    @Test func `a histogram without a value is left out`() {
        #expect(PrometheusText.text(MetricRegistry().samples).isEmpty)
        let registry = MetricRegistry()
        _ = registry.timer(.requestSeconds, ["get"])
        #expect(registry.samples.isEmpty)
    }

    @Test func `the same metric asked for twice is one`() {
        let registry = MetricRegistry()
        registry.counter(.retries, ["upload"]).increment()
        registry.counter(.retries, ["upload"]).increment()
        #expect(PrometheusText.text(registry.samples).hasSuffix(#"dewpoint_retries_total{by="upload"} 2"# + "\n"))
    }

    @Test func `errors of operations are counted by the names of their numbers`() {
        let instruments = Instruments(MetricRegistry())
        instruments.operations.ended(.copyFileRange, since: OperationInstruments.now, 5)
        instruments.operations.ended(.copyFileRange, since: OperationInstruments.now, 5)
        instruments.operations.ended(.copyFileRange, since: OperationInstruments.now, 0)
        let text = PrometheusText.text(instruments.registry.samples)
        #expect(text.contains(#"dewpoint_fuse_errors_total{operation="copy_file_range",errno="EIO"} 2"# + "\n"))
        #expect(
            text.contains(#"dewpoint_fuse_operation_duration_seconds_count{operation="copy_file_range"} 3"# + "\n"))
    }

    @Test(arguments: Metric.allCases)
    func `every name follows the rules of Prometheus and has a help line`(metric: Metric) {
        #expect(metric.name.wholeMatch(of: /dewpoint_[a-z_]+/) != nil)
        #expect((metric.kind == .counter) == metric.name.hasSuffix("_total"))
        #expect(metric.help.hasSuffix(".") && !metric.help.contains("\n"))
    }
}

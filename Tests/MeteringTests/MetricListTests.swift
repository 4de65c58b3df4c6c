import DocumentationTables
import Foundation
import Testing

@testable import Metering

/// The documentation and the Grafana board follow the declarations of the metrics.
@Suite struct MetricListTests {
    @Test func `the page Metrics lists every metric as it is declared`() throws {
        let declared = Metric.allCases.map { metric in
            let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
            return DocumentationTable.line(
                ["`\(metric.name)`", metric.kind.rawValue, labels.isEmpty ? "–" : labels, metric.help])
        }
        let page = DocumentationTable(page: "Metrics", columns: ["metric", "kind", "labels", "meaning"])
        #expect(try page.lines(declared: declared) == declared)
    }

    /// A query of a panel of the Grafana board.
    private struct Query {
        let text: String
        /// The unit in which the panel shows it, in Grafana's words.
        let unit: String

        /// - Returns: What is wrong with it, by the declarations of the metrics; `nil` for nothing.
        var mistake: String? {
            let names = text.matches(of: /\b(dewpoint_[a-z_]+)(?:{(.*?)})?/).map(\.output)
            guard let found = names.first, names.count == 1 else { return "it does not query one metric" }
            guard let metric = Metric.allCases.first(where: { Self.series(of: $0).contains(String(found.1)) }) else {
                return "there is no metric \(found.1)"
            }
            let isRate = text.contains(/\b(rate|increase)\(/)
            if isRate == (metric.kind == .gauge) { return "it takes a \(metric.kind) for another kind" }
            let matched = (found.2 ?? "").matches(of: /(\w+)!?[=~]/).map { String($0.output.1) }
            let grouped = text.matches(of: /by \(([\w, ]+)\)/).flatMap { $0.output.1.split(separator: ", ") }.map(
                String.init)
            let unknown = Set(matched + grouped).subtracting(metric.labels + ["instance", "le"])
            if !unknown.isEmpty { return "\(metric.name) has no labels \(unknown.sorted())" }
            if !units(of: metric, found.1).contains(unit) { return "the panel shows \(metric.name) in \(unit)" }
            return nil
        }

        /// The names under which Prometheus has a metric's values.
        static func series(of metric: Metric) -> [String] {
            metric.kind == .histogram ? ["_bucket", "_sum", "_count"].map { metric.name + $0 } : [metric.name]
        }

        private func units(of metric: Metric, _ series: Substring) -> [String] {
            let isRate = text.contains(/\brate\(/)
            if series.hasSuffix("_count") { return ["ops", "reqps"] }
            if metric.name.contains(/_seconds\b/) { return ["s"] }
            if metric.name.contains(/_bytes(_total)?\b/) { return [isRate ? "Bps" : "bytes"] }
            return isRate ? ["ops", "reqps"] : ["short"]
        }
    }

    @Test func `the Grafana board queries metrics by their kinds, labels and units`() throws {
        let board = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../scripts/packaging/grafana.json")
        let text = try String(contentsOf: board, encoding: .utf8)
        let names = Set(text.matches(of: /dewpoint_[a-z_]+/).map { String($0.output) })
        #expect(names.subtracting(Metric.allCases.flatMap(Query.series)).isEmpty)
        let json = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let panels = try #require(json["panels"] as? [[String: Any]])
        let queries = try panels.flatMap { panel in
            let defaults = try #require((panel["fieldConfig"] as? [String: Any])?["defaults"] as? [String: Any])
            let unit = try #require(defaults["unit"] as? String)
            let targets = try #require(panel["targets"] as? [[String: Any]])
            return try targets.map { Query(text: try #require($0["expr"] as? String), unit: unit) }
        }
        for query in queries { #expect(query.mistake == nil, "\(query.text)") }
        // It shows nearly all of them.
        #expect(queries.count >= 20)
    }
}

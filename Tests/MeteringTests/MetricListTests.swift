import Foundation
import Testing

@testable import Metering

/// The documentation and the Grafana board name the metrics that there are.
@Suite struct MetricListTests {
    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    private static func text(_ path: String) throws -> String {
        try String(contentsOfFile: sources + "/" + path, encoding: .utf8)
    }

    private static func names(in text: String) -> Set<String> {
        Set(text.matches(of: /dewpoint_[a-z_]+/).map { String($0.output) })
    }

    @Test func `the page Metrics lists every metric with its kind and labels`() throws {
        let page = try Self.text("Sources/Model/Documentation.docc/Metrics.md")
        // The table of conditions to be told of, which comes after, has two columns.
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `dewpoint_") }.map {
            $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }.filter { $0.count > 2 }
        #expect(rows.map { $0[0] } == Metric.allCases.map { "`\($0.rawValue)`" })
        #expect(rows.map { $0[1] } == Metric.allCases.map(\.kind.rawValue))
        #expect(
            rows.map { $0[2] }
                == Metric.allCases.map { $0.labels.map { "`\($0)`" }.joined(separator: ", ") }.map {
                    $0.isEmpty ? "–" : $0
                })
    }

    @Test func `the Grafana board is JSON, and each metric that it queries exists`() throws {
        let board = try Self.text("scripts/packaging/grafana.json")
        _ = try #require(try JSONSerialization.jsonObject(with: Data(board.utf8)) as? [String: Any])
        let known = Metric.allCases.flatMap { metric in
            metric.kind == .histogram
                ? ["_bucket", "_sum", "_count"].map { metric.rawValue + $0 } : [metric.rawValue]
        }
        let unknown = Self.names(in: board).subtracting(known)
        #expect(unknown.isEmpty, "\(unknown)")
        // It shows nearly all of them.
        #expect(Self.names(in: board).count >= 20)
    }
}

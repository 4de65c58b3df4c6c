package import Model

/// Evicts a file, or all files below a directory; waits for presenters and for the store.
package struct EvictRequest: ItemOrder {
    package typealias Answer = EvictionAnswer

    package static let route = "/v1/items/evict"
    package static let answers =
        #"`{}`, or 409 `busy` for an item that is open, modified, pinned or claimed; with `"report":true` 200, with "#
        + #"`evicted`, `freedByteCount` and `stayed`: each a path and a reason"#
    package static let example = Self(path: "a.txt")
    package static let isForDashboard = true

    package var path: String
    /// Whether to answer with an ``EvictionReport``, also when files stay; `nil` is `false`.
    package var report: Bool?

    package init(path: String, report: Bool? = nil) {
        self.path = path
        self.report = report
    }
}

/// The answer of ``EvictRequest``: `{}`, or the report if one was asked for.
package struct EvictionAnswer: Codable, Sendable {
    package var report: EvictionReport?

    package init(report: EvictionReport? = nil) { self.report = report }

    package init(from decoder: any Decoder) throws {
        let isEmpty = try decoder.container(keyedBy: Key.self).allKeys.isEmpty
        report = isEmpty ? nil : try EvictionReport(from: decoder)
    }

    package func encode(to encoder: any Encoder) throws {
        if let report { try report.encode(to: encoder) } else { try Done().encode(to: encoder) }
    }

    /// Any key, to see whether there is one.
    private struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }
}

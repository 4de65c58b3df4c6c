/// Compares the index, the backing directory and the store.
package struct CheckRequest: ControlOrder {
    package typealias Answer = CheckReport

    package static let route = "/v1/check"
    package static let answers = #"`{"problems":[]}`: a list of sentences; `bytes` reads and verifies everything"#
    package static let example = Self(bytes: false)
    package static let changesSomething = false

    /// Whether to download and verify every byte that the files need; `nil` for no.
    package var bytes: Bool?

    package init(bytes: Bool? = nil) { self.bytes = bytes }
}

/// The answer of ``CheckRequest``.
package struct CheckReport: Codable, Hashable, Sendable {
    /// Every disagreement between index, backing directory and remote, as a sentence; empty when they agree.
    package var problems: [String]

    package init(problems: [String]) { self.problems = problems }
}

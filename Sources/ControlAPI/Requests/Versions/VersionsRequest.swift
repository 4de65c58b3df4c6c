package import Model

/// Every version of a file, the current one first.
package struct VersionsRequest: ItemQuestion {
    package typealias Answer = [ItemVersion]

    package static let route = "/v1/items/versions"
    package static let answers = "a list: `id`, `kind` (`current`, `conflict`, `earlier`), `date`, `computer`, `size` …"
    package static let example = Self(path: "a.txt")
    package static let isForDashboard = true

    package var path: String

    package init(path: String) { self.path = path }
}

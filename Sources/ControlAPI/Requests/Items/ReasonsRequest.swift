package import Model

/// Why an item is as it is.
package struct ReasonsRequest: ItemQuestion {
    package typealias Answer = ItemReasons

    package static let route = "/v1/items/why"
    package static let answers =
        "`download`, `localBecause`, `staysBecause`, `heldBy`, `waitsFor`: sentences; `rules`: those in force, each "
        + "with its `value`, its `source` and its `directory`"
    package static let example = Self(path: "a.txt")

    package var path: String

    package init(path: String) { self.path = path }
}

package import Model

/// The counts over an item and everything below it.
package struct TotalsRequest: ItemQuestion {
    package typealias Answer = ItemTotals

    package static let route = "/v1/items/totals"
    package static let answers =
        "counts of an item and everything below it, as in `totals` of the status: `itemCount`, `localItemCount`, "
        + "`byteCount`, `uploads`, `downloads`, `conflictCount`, `errorCount` …; `isPartial` after five seconds"
    package static let example = Self(path: "Photos")

    package var path: String

    package init(path: String) { self.path = path }
}

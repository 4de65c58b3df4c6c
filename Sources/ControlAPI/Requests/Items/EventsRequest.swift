package import Model

/// The events of an item and of everything below it.
package struct EventsRequest: ItemQuestion {
    package typealias Answer = JSONLines<ItemNews>

    package static let route = "/v1/events"
    package static let answers = "one line for each event; see below"
    package static let example = Self(path: "Photos")
    package static let isForDashboard = true
    package static let isStream = true

    package var path: String

    package init(path: String) { self.path = path }
}

package import Model

/// The devices that have changed the container, this one first.
package struct DevicesRequest: PlainQuestion {
    package typealias Answer = [KnownDevice]

    package static let route = "/v1/devices"
    package static let answers = "a list of devices that have changed the container: `device`, `name`, `isThisDevice`"
    package static let isForDashboard = true

    package init() {}
}

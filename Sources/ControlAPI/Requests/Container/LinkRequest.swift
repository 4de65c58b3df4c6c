package import Model

/// Sets the conditions of the link to the store.
package struct LinkRequest: ControlOrder {
    package typealias Answer = LinkSettings

    package static let route = "/v1/link"
    package static let answers = "the same, as they are from now on; without `link` those of the mount's options"
    package static let example = Self(link: LinkSettings(delayMilliseconds: 100, lossPercent: 1))
    package static let isForDashboard = true

    /// `nil` for the conditions of the mount's options.
    package var link: LinkSettings?

    package init(link: LinkSettings?) { self.link = link }
}

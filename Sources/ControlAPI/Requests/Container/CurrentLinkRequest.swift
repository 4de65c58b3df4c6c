package import Model

/// The conditions of the link to the store.
package struct CurrentLinkRequest: PlainQuestion {
    package typealias Answer = LinkSettings

    package static let route = "/v1/link"
    package static let answers =
        "the conditions of the link to the store: `delayMilliseconds`, `downKiBPerSecond`, `upKiBPerSecond`, "
        + "`lossPercent`, `lookupMilliseconds`; `isLasting` for those of the mount's options"
    package static let isForDashboard = true

    package init() {}
}

package import Model

/// How a container, its device and its daemon are.
package struct ContainerStatusRequest: PlainQuestion {
    package typealias Answer = ContainerStatus

    package static let route = "/v1/status"
    package static let answers =
        "the container, its device, `totals`, `quota`, `isEncrypted`, `store`, `lastCommit`, `fastPaths`, `problem` if sync "
        + "is stopped, `overdue` devices, the `peers` that it hears, `cache` and `storms`; `readOnly` if the mount refuses changes: its `reason` (`store`, `option`), "
        + "and `detail`, the store's own; `survival` of a mount with `survive`: `replacements`, and the `obstacle`, if any"
    package static let isForDashboard = true

    package init() {}
}

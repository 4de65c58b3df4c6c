package import Model

/// The files that are shared by a link.
package struct SharesRequest: PlainQuestion {
    package typealias Answer = [SharedFile]

    package static let route = "/v1/shares"
    package static let answers =
        "a list of what is shared by a link: `id`, `path`, `size`, `created`, `expires`, `device`, `link`, "
        + "`linkExpires`"
    /// It needs a few requests to the store.
    package static let answerLimit: Duration? = .seconds(120)

    package init() {}
}

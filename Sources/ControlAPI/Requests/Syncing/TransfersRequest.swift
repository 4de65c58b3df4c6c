package import Model

/// What is uploaded and downloaded, and what waits for it.
package struct TransfersRequest: PlainQuestion {
    package typealias Answer = TransferListing

    package static let route = "/v1/transfers"
    package static let answers =
        "`active` and `waiting` (at most 500 in each direction), each with `path`, `direction` (`up`, `down`), "
        + "`bytesDone`, `byteCount`, `bytesPerSecond`, `secondsLeft`, `reason`; and `uploads` and `downloads` in sum"
    package static let isForDashboard = true

    package init() {}
}

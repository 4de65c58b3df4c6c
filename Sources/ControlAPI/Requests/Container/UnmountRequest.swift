/// Unmounts the container; the daemon exits after the answer.
package struct UnmountRequest: ControlOrder {
    package static let route = "/v1/unmount"
    package static let answers = "`{}`, or 409 `busy` while files are open; afterwards the daemon exits"
    package static let example = Self(lazily: false)
    /// It stops the daemon.
    package static let endsWithDaemon = false

    /// Whether to unmount even if files are open: using them fails from then on.
    package var lazily: Bool

    package init(lazily: Bool) { self.lazily = lazily }
}

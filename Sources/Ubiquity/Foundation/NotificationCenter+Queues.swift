extension NotificationCenter {
    /// Calls a block for each notification of a name, until the returned token is given to `removeObserver(_:)`.
    ///
    /// Differences from Foundation's: posting never waits for a block on another queue, and a block for the main queue
    /// runs at once when the notification is posted there. Foundation on Linux waits for the main queue to become
    /// empty, even when it is the one that posts: for ever under an async `main` and `dispatchMain()`.
    /// - Parameter queue: Runs the block; `nil` for the thread that posts.
    @discardableResult
    public func addObserver(
        forName name: NSNotification.Name?, object obj: Any?, queue: OperationQueue?,
        using block: @Sendable @escaping (Notification) -> Void
    ) -> any NSObjectProtocol {
        guard let queue else {
            return self.Foundation::addObserver(forName: name, object: obj, queue: nil, using: block)
        }
        let target = Carried(value: queue)
        return self.Foundation::addObserver(forName: name, object: obj, queue: nil) { notification in
            if CallbackQueue.current === target.value { return block(notification) }
            let notification = Carried(value: notification)
            target.value.addOperation { block(notification.value) }
        }
    }
}

import Synchronization

extension UIDocument {
    /// Tells the queue of file access from others.
    static let accessKey = DispatchSpecificKey<ObjectIdentifier>()

    /// Where the handler of a call that is made now runs.
    var callbackQueue: DispatchQueue { CallbackQueue.isMain ? CallbackQueue.main : completionQueue }

    var home: DispatchQueue { record.withLock { $0.home } }

    /// Makes the queue of this call that of everything that the document does by itself.
    func adoptQueue() -> DispatchQueue {
        let queue = callbackQueue
        record.withLock { $0.home = queue }
        return queue
    }

    func perform(on queue: DispatchQueue, _ body: @escaping () -> Void) {
        let body = Carried(value: body)
        // As an operation: a notification that is posted in it then finds itself on the main queue.
        if queue === CallbackQueue.main { return QueueWork.shared.add(to: .main) { body.value() } }
        queue.async { body.value() }
    }

    /// Runs later, unless the document is gone.
    func perform(on queue: DispatchQueue, after delay: Duration, _ body: @escaping @Sendable (UIDocument) -> Void) {
        let document = WeakDocument(self)
        if delay == .zero {
            return perform(on: queue) {
                if let document = document.document { body(document) }
            }
        }
        let (seconds, attoseconds) = delay.components
        let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        queue.asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) {
            document.document?.perform(on: queue, after: .zero, body)
        }
    }

    /// Posts the notification on the current queue when the state changes.
    func changeState(_ change: (inout State) -> Void) {
        let isChanged = record.withLock { record in
            let old = record.state
            change(&record.state)
            return record.state != old
        }
        if isChanged { postStateChange() }
    }

    func postStateChange() {
        NotificationCenter.default.post(name: Self.stateChangedNotification, object: self)
    }

    /// Also where an override does not call `super`.
    func setEditing(isEnabled: Bool) {
        if isEnabled {
            changeState { $0.remove(.editingDisabled) }
            enableEditing()
        } else {
            disableEditing()
            changeState { $0.insert(.editingDisabled) }
        }
    }

    /// Calls a completion form from an async one.
    func answer(_ ask: (@escaping @Sendable ((any Error)?) -> Void) -> Void) async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            ask { error in
                if let error { done.resume(throwing: error) } else { done.resume() }
            }
        }
    }
}

import Synchronization

// Swift on Linux has no `#selector`. A program writes the method itself, `MyClass.handle(_:)`, which is a function from
// the object to the bound method.
extension NotificationCenter {
    /// Calls a method of an object for each notification with that name and from that sender.
    ///
    /// Replace `#selector(handle(_:))` by `MyClass.handle(_:)`. The observer is held weakly, and the registration ends
    /// with it. The method is called on the posting thread before `post` returns, as on Apple's systems, unless main
    /// actor code registers it and another thread posts: then it is called on the main queue, later.
    ///
    /// - Parameters:
    ///   - name: `nil` for notifications of any name.
    ///   - object: `nil` for notifications of any sender.
    ///   - isolation: The actor of the caller; leave it out.
    public func addObserver<Observer: AnyObject>(
        _ observer: Observer, selector: @escaping (Observer) -> (Notification) -> Void, name: NSNotification.Name?,
        object: Any?, isolation: isolated (any Actor)? = #isolation
    ) {
        let delivery = SelectorObservers.Delivery(observer: observer, isMain: isolation === MainActor.shared) {
            selector($0)($1)
        }
        SelectorObservers.add(delivery, observer, to: self, name: name, object: object)
    }

    /// Calls a method without a parameter of an object for each notification with that name and from that sender; see
    /// the form with a parameter.
    public func addObserver<Observer: AnyObject>(
        _ observer: Observer, selector: @escaping (Observer) -> () -> Void, name: NSNotification.Name?, object: Any?,
        isolation: isolated (any Actor)? = #isolation
    ) {
        let delivery = SelectorObservers.Delivery(observer: observer, isMain: isolation === MainActor.shared) {
            observer, _ in selector(observer)()
        }
        SelectorObservers.add(delivery, observer, to: self, name: name, object: object)
    }

    /// Ends all registrations of an observer: an object given to `addObserver(_:selector:name:object:)`, or the result
    /// of `addObserver(forName:object:queue:using:)`. May be called in `deinit`.
    public func removeObserver(_ observer: Any) {
        SelectorObservers.remove(observer, from: self, name: nil, object: nil)
        self.Foundation::removeObserver(observer)
    }

    /// Ends the registrations of an observer with that name and that sender, or with any for `nil`.
    public func removeObserver(_ observer: Any, name aName: NSNotification.Name?, object: Any?) {
        SelectorObservers.remove(observer, from: self, name: aName, object: object)
        self.Foundation::removeObserver(observer, name: aName, object: object)
    }
}

/// The registrations that name a method, of all notification centers.
private enum SelectorObservers {
    private struct Registration {
        weak var observer: AnyObject?
        let center: NotificationCenter
        let name: NSNotification.Name?
        let object: ObjectIdentifier?
        let token: any NSObjectProtocol
    }

    /// By observer; guarded by its mutex. The entries of observers that are gone are removed when their number has
    /// doubled.
    private struct State: @unchecked Sendable {
        // Unchecked, since tokens are not declared Sendable: a notification center is safe on all threads, and the
        // state is used under the mutex only.
        var registrations: [ObjectIdentifier: [Registration]] = [:]
        var sweepCount = 64
    }

    private static let state = Mutex(State())

    /// Carries a method to the posting thread, as the registering program asks for, or from there to the main queue.
    struct Delivery<Observer: AnyObject>: @unchecked Sendable {
        // Unchecked, since the program's observer and method are not Sendable: it chose the threads that call it.
        weak var observer: Observer?
        /// Whether the method is called on the main thread only.
        let isMain: Bool
        let method: (Observer, Notification) -> Void

        func deliver(_ notification: Notification) {
            guard let observer else { return }
            guard isMain, !Thread.isMainThread else { return method(observer, notification) }
            let call = Call(observer: observer, method: method, notification: notification)
            DispatchQueue.main.async { call.method(call.observer, call.notification) }
        }
    }

    private struct Call<Observer: AnyObject>: @unchecked Sendable {
        // Unchecked: handed over once, to the main queue.
        let observer: Observer
        let method: (Observer, Notification) -> Void
        let notification: Notification
    }

    static func add<Observer: AnyObject>(
        _ delivery: Delivery<Observer>, _ observer: Observer, to center: NotificationCenter,
        name: NSNotification.Name?, object: Any?
    ) {
        let token = center.addObserver(forName: name, object: object, queue: nil) { delivery.deliver($0) }
        let registration = Registration(
            observer: observer, center: center, name: name, object: object.map(identifier),
            token: token)
        insert(registration, for: ObjectIdentifier(observer))
    }

    private static func insert(_ registration: Registration, for observer: ObjectIdentifier) {
        let box = Sent(registrations: [registration])
        let ended = state.withLock { state -> Sent in
            // An object at the address of one that is gone.
            var ended = state.registrations[observer, default: []].filter { $0.observer == nil }
            state.registrations[observer, default: []].removeAll { $0.observer == nil }
            state.registrations[observer, default: []] += box.registrations
            if state.registrations.count > state.sweepCount {
                for (key, list) in state.registrations where list.allSatisfy({ $0.observer == nil }) {
                    ended += list
                    state.registrations[key] = nil
                }
                state.sweepCount = max(64, 2 * state.registrations.count)
            }
            return Sent(registrations: ended)
        }
        end(ended)
    }

    static func remove(_ observer: Any, from center: NotificationCenter, name: NSNotification.Name?, object: Any?) {
        let key = identifier(observer)
        let center = ObjectIdentifier(center)
        let object = object.map(identifier)
        let ended = state.withLock { state -> Sent in
            guard let list = state.registrations[key] else { return Sent(registrations: []) }
            let matching = { (registration: Registration) in
                ObjectIdentifier(registration.center) == center && (name == nil || registration.name == name)
                    && (object == nil || registration.object == object)
            }
            let rest = list.filter { !matching($0) }
            state.registrations[key] = rest.isEmpty ? nil : rest
            return Sent(registrations: list.filter(matching))
        }
        end(ended)
    }

    /// Takes registrations out of the mutex, or into it.
    private struct Sent: @unchecked Sendable {
        // Unchecked: handed over once; who takes them out is the only one to have them.
        let registrations: [Registration]
    }

    private static func end(_ ended: Sent) {
        for registration in ended.registrations {
            registration.center.Foundation::removeObserver(registration.token)
        }
    }

    private static func identifier(_ object: Any) -> ObjectIdentifier { ObjectIdentifier(object as AnyObject) }
}

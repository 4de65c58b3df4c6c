/// Finds out on which queue a call is made.
enum CallbackQueue {
    private static let key = DispatchSpecificKey<Bool>()
    private static let mark: Void = DispatchQueue.main.setSpecific(key: key, value: true)

    /// Whether the caller runs on the main queue, as the main actor does.
    ///
    /// An async `@main` gives the main thread up and runs its main queue on threads of the pool, where
    /// `Thread.isMainThread` is false.
    static var isMain: Bool {
        _ = mark
        return DispatchQueue.getSpecific(key: key) == true || Thread.isMainThread
    }

    /// The main queue, always as the same object: `DispatchQueue.main` is another one at each call.
    static let main = DispatchQueue.main

    /// The operation queue on which the caller runs; `nil` on a thread of none.
    static var current: OperationQueue? { isMain ? .main : OperationQueue.current }
}

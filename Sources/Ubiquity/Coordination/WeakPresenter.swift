/// A presenter that is not retained.
///
/// `@unchecked Sendable`: loading a weak reference is atomic, and it is never stored to again.
struct WeakPresenter: @unchecked Sendable {
    private(set) weak var presenter: (any NSFilePresenter)?

    init(_ presenter: any NSFilePresenter) { self.presenter = presenter }
}

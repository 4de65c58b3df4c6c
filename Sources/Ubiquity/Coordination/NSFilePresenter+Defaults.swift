// Each completion form calls the async form, and each async form is what a presenter does that does not implement it:
// so a presenter may implement either. `Task.immediate` runs the async form at once, on the presenter's queue, up to
// its first suspension: a default implementation answers even while the cooperative pool is blocked.
extension NSFilePresenter {
    /// The default: none.
    public var primaryPresentedItemURL: URL? { nil }

    /// The default, empty, stands for all ubiquity attributes.
    public var observedPresentedItemUbiquityAttributes: Set<URLResourceKey> { [] }

    /// The default answers at once.
    public func relinquishPresentedItem(toReader reader: @escaping @Sendable ((@Sendable () -> Void)?) -> Void) {
        reader(nil)
    }

    /// The default answers at once.
    public func relinquishPresentedItem(toWriter writer: @escaping @Sendable ((@Sendable () -> Void)?) -> Void) {
        writer(nil)
    }

    /// The default has nothing to do.
    public func savePresentedItemChanges() async throws {}
    /// The default has nothing to do.
    public func accommodatePresentedItemDeletion() async throws {}
    /// The default refuses the eviction, as Apple's systems do: `NSCocoaErrorDomain` 3328.
    public func accommodatePresentedItemEviction() async throws { throw CocoaError(.featureUnsupported) }
    /// The default has nothing to do.
    public func accommodatePresentedSubitemDeletion(at url: URL) async throws {}

    /// The default does nothing.
    public func presentedItemDidMove(to newURL: URL) {}
    /// The default does nothing.
    public func presentedItemDidChange() {}
    /// The default does nothing.
    public func presentedItemDidChangeUbiquityAttributes(_ attributes: Set<URLResourceKey>) {}
    /// The default does nothing.
    public func presentedItemDidGain(_ version: NSFileVersion) {}
    /// The default does nothing.
    public func presentedItemDidLose(_ version: NSFileVersion) {}
    /// The default does nothing.
    public func presentedItemDidResolveConflict(_ version: NSFileVersion) {}
    /// The default does nothing.
    public func presentedSubitemDidAppear(at url: URL) {}
    /// The default does nothing.
    public func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) {}
    /// The default does nothing.
    public func presentedSubitemDidChange(at url: URL) {}
    /// The default calls the presenter as for its own item.
    public func presentedSubitem(at url: URL, didGain version: NSFileVersion) { presentedItemDidGain(version) }
    /// The default calls the presenter as for its own item.
    public func presentedSubitem(at url: URL, didLose version: NSFileVersion) { presentedItemDidLose(version) }
    /// The default calls the presenter as for its own item.
    public func presentedSubitem(at url: URL, didResolve version: NSFileVersion) {
        presentedItemDidResolveConflict(version)
    }

    /// The default calls the async form.
    public func savePresentedItemChanges(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        answer(completionHandler) { try await $0.savePresentedItemChanges() }
    }

    /// The default calls the async form.
    public func accommodatePresentedItemDeletion(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        answer(completionHandler) { try await $0.accommodatePresentedItemDeletion() }
    }

    /// The default calls the async form.
    public func accommodatePresentedItemEviction(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        answer(completionHandler) { try await $0.accommodatePresentedItemEviction() }
    }

    /// The default calls the async form.
    public func accommodatePresentedSubitemDeletion(
        at url: URL, completionHandler: @escaping @Sendable ((any Error)?) -> Void
    ) {
        answer(completionHandler) { try await $0.accommodatePresentedSubitemDeletion(at: url) }
    }

    private func answer(
        _ completion: @escaping @Sendable ((any Error)?) -> Void,
        _ body: @escaping @Sendable (any NSFilePresenter) async throws -> Void
    ) {
        let shared = SharedPresenter(presenter: self)
        Task.immediate {
            do {
                try await body(shared.presenter)
                completion(nil)
            } catch {
                completion(error)
            }
        }
    }
}

/// Carries a presenter into a task. Unchecked, since a program's presenter is not declared Sendable: presenters are
/// called on their queue, whatever thread that is.
private struct SharedPresenter: @unchecked Sendable {
    let presenter: any NSFilePresenter
}

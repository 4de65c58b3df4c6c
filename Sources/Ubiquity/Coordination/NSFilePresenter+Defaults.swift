// Each completion form calls the async form, and each async form is what a presenter does that does not implement it:
// so a presenter may implement either. `Task.immediate` runs the async form at once, on the presenter's queue, up to
// its first suspension: a default implementation answers even while the cooperative pool is blocked.
extension NSFilePresenter {
    public var primaryPresentedItemURL: URL? { nil }

    public var observedPresentedItemUbiquityAttributes: Set<URLResourceKey> { [] }

    public func relinquishPresentedItem(toReader reader: @escaping @Sendable ((@Sendable () -> Void)?) -> Void) {
        reader(nil)
    }

    public func relinquishPresentedItem(toWriter writer: @escaping @Sendable ((@Sendable () -> Void)?) -> Void) {
        writer(nil)
    }

    public func savePresentedItemChanges() async throws {}
    public func accommodatePresentedItemDeletion() async throws {}
    public func accommodatePresentedItemEviction() async throws { throw CocoaError(.featureUnsupported) }
    public func accommodatePresentedSubitemDeletion(at url: URL) async throws {}

    public func presentedItemDidMove(to newURL: URL) {}
    public func presentedItemDidChange() {}
    public func presentedItemDidChangeUbiquityAttributes(_ attributes: Set<URLResourceKey>) {}
    public func presentedItemDidGain(_ version: NSFileVersion) {}
    public func presentedItemDidLose(_ version: NSFileVersion) {}
    public func presentedItemDidResolveConflict(_ version: NSFileVersion) {}
    public func presentedSubitemDidAppear(at url: URL) {}
    public func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) {}
    public func presentedSubitemDidChange(at url: URL) {}
    public func presentedSubitem(at url: URL, didGain version: NSFileVersion) { presentedItemDidGain(version) }
    public func presentedSubitem(at url: URL, didLose version: NSFileVersion) { presentedItemDidLose(version) }
    public func presentedSubitem(at url: URL, didResolve version: NSFileVersion) {
        presentedItemDidResolveConflict(version)
    }

    public func savePresentedItemChanges(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        answer(completionHandler) { try await $0.savePresentedItemChanges() }
    }

    public func accommodatePresentedItemDeletion(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        answer(completionHandler) { try await $0.accommodatePresentedItemDeletion() }
    }

    public func accommodatePresentedItemEviction(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        answer(completionHandler) { try await $0.accommodatePresentedItemEviction() }
    }

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

/// Carries a presenter into a task: presenters are called on their queue, whatever thread that is.
private struct SharedPresenter: @unchecked Sendable {
    let presenter: any NSFilePresenter
}

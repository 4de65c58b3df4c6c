/// Where claims and presenters of some files live: one mounted container, or all other files of this process.
///
/// Functions never wait: completions are called on a thread of the domain and must not block.
protocol CoordinationDomain: AnyObject, Sendable {
    /// Where the domain stands in the order in which a call takes its claims: the same for all calls.
    var rank: String { get }

    /// - Parameters:
    ///   - request: Its items are all in this domain.
    ///   - completion: Gets the granted claim, or the error for the caller.
    func claim(
        _ request: AccessRequest, completion: @escaping @Sendable (Result<DomainClaim, NSError>) -> Void)

    func release(_ claim: DomainClaim, completion: @escaping @Sendable () -> Void)

    /// Cancels the waiting calls of a coordinator, and later ones.
    func cancel(coordinator: String)

    /// - Parameter completion: Called when the presenter is registered: it misses no later event. Gets the error if it
    ///   cannot be registered.
    func present(
        _ presenter: RegisteredPresenter, at url: URL, completion: @escaping @Sendable (NSError?) -> Void)

    /// The presenter gets no more messages.
    func withdraw(_ presenter: RegisteredPresenter)

    /// A file was moved or renamed in an accessor.
    func moved(_ old: URL, to new: URL, within claims: [HeldClaim], by presenter: UInt64?)

    func changedUbiquityAttributes(_ keys: Set<String>, of url: URL, by presenter: UInt64?)
}

/// A granted claim of one domain.
struct DomainClaim: Sendable {
    let number: UInt64
    /// The current URLs of the items, in the order of the request.
    let urls: [URL]
}

/// Finds the domain of a file.
enum CoordinationDomains {
    static func domain(of url: URL) -> any CoordinationDomain {
        if let (container, _) = MountedContainer.containing(url) { return ContainerDomain.domain(of: container) }
        return LocalDomain.shared
    }

    /// All domains that may have calls of a coordinator.
    static var all: [any CoordinationDomain] { ContainerDomain.known + [LocalDomain.shared] }
}

import ControlClient
import Model
import Synchronization

/// The claims and presenters of this process in one mounted container, through one session at its daemon.
///
/// The session connects on first use, and again after the daemon was gone; presenters are registered again then.
final class ContainerDomain: CoordinationDomain {
    let container: MountedContainer
    private let session: ReconnectingSession
    /// Granted claims by their numbers, until they are released.
    private let held = Mutex<[UInt64: GrantedClaim]>([:])

    private static let domains = Mutex<[MountedContainer: ContainerDomain]>([:])

    private init(_ container: MountedContainer) {
        self.container = container
        let presented = presented
        session = ReconnectingSession(
            socketPath: { container.socketPath }, packageExtensions: ProgramInfo.main.packageExtensions.sorted()
        ) { event in
            guard case .reconnected = event else { return }
            for presenter in presented.known.withLock({ Array($0.values) }) { presenter.catchUp() }
        }
    }

    static func domain(of container: MountedContainer) -> ContainerDomain {
        domains.withLock { domains in
            if let known = domains[container] { return known }
            let new = ContainerDomain(container)
            domains[container] = new
            return new
        }
    }

    static var known: [any CoordinationDomain] { domains.withLock { Array($0.values) } }

    var rank: String { container.mountpoint }

    // MARK: Claims

    func claim(
        _ request: AccessRequest, completion: @escaping @Sendable (Result<DomainClaim, NSError>) -> Void
    ) {
        let paths = request.items.map { MountedContainer.containing($0.url)?.path ?? "" }
        claim(request, paths, completion)
    }

    /// - Parameter paths: Those to claim: an item whose directory does not exist yet is claimed by the first directory
    ///   on its path that does not exist.
    private func claim(
        _ request: AccessRequest, _ paths: [String],
        _ completion: @escaping @Sendable (Result<DomainClaim, NSError>) -> Void
    ) {
        session.claim(claimRequest(request, paths)) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let granted):
                held.withLock { $0[granted.claim] = granted }
                let urls = zip(request.items, zip(paths, granted.paths)).map { item, path in
                    // Unmoved: the caller's own spelling.
                    path.0.isBytewiseEqual(to: path.1) ? item.url : self.container.url(path.1, like: item.url)
                }
                completion(.success(DomainClaim(number: granted.claim, urls: urls)))
            case .failure(.ended(let end))
            where end.code == .notFound && paths.contains { $0.utf8.contains(ItemPath.separator) }:
                claim(request, paths.map { self.firstMissing($0) }, orFailWith: end, unless: paths, completion)
            case .failure(let failure):
                completion(.failure(CoordinationFailure.error(failure, request.items.first?.url)))
            }
        }
    }

    private func claim(
        _ request: AccessRequest, _ shorter: [String], orFailWith end: ClaimEnded, unless paths: [String],
        _ completion: @escaping @Sendable (Result<DomainClaim, NSError>) -> Void
    ) {
        guard !zip(shorter, paths).allSatisfy({ $0.isBytewiseEqual(to: $1) }) else {
            return completion(.failure(CoordinationFailure.error(.ended(end), request.items.first?.url)))
        }
        claim(request, shorter) { result in
            // The accessor gets the URLs that it asked for: it creates the directories, or fails to find them.
            completion(
                result.map { claim in DomainClaim(number: claim.number, urls: request.items.map(\.url)) })
        }
    }

    /// The path up to the first component that does not exist.
    private func firstMissing(_ path: String) -> String {
        var known = ItemPath("")
        for part in ItemPath(path).components {
            let next = known.appending(part)
            guard FileStamp(container.path(next.string)) != nil else { return next.string }
            known = next
        }
        return path
    }

    private func claimRequest(_ request: AccessRequest, _ paths: [String]) -> ClaimRequest {
        var claim = ClaimRequest(claim: 0, items: zip(request.items, paths).map { $0.access.claim(at: $1) })
        claim.mode = request.isBatch ? .batch : nil
        claim.coordinator = request.coordinator
        claim.purpose = request.purpose
        claim.presenter = request.presenter.flatMap { isPresented($0) ? $0 : nil }
        claim.fromPresenter = request.fromPresenter.flatMap { isPresented($0) ? $0 : nil }
        claim.within = request.within.isEmpty ? nil : request.within.map(\.number)
        return claim
    }

    func release(_ claim: DomainClaim, completion: @escaping @Sendable () -> Void) {
        guard let granted = held.withLock({ $0.removeValue(forKey: claim.number) }) else { return completion() }
        session.release(granted, completion: completion)
    }

    func cancel(coordinator: String) { session.cancelCoordinator(coordinator) }

    // MARK: Presenters

    private final class Presented: Sendable {
        let known = Mutex<[UInt64: RegisteredPresenter]>([:])
    }

    private let presented = Presented()

    /// The daemon refuses the number of a presenter that it does not know.
    private func isPresented(_ number: UInt64) -> Bool { presented.known.withLock { $0[number] != nil } }

    func present(
        _ presenter: RegisteredPresenter, at url: URL, completion: @escaping @Sendable (NSError?) -> Void
    ) {
        guard let path = MountedContainer.containing(url)?.path else { return completion(nil) }
        var request = PresenterRequest(presenter: presenter.number, path: path, methods: PresenterMethod.allCases)
        request.purpose = presenter.purpose
        let observed = presenter.presenter?.observedPresentedItemUbiquityAttributes ?? []
        request.observedAttributes = observed.isEmpty ? nil : observed.map(\.rawValue).sorted()
        session.present(request) { [container] session, _ in
            PresenterMailbox(presenter, url: { container.url($0, like: nil) }, answer: { session.answer($0) })
        } completion: { [weak self] result in
            switch result {
            case .success:
                self?.presented.known.withLock { $0[presenter.number] = presenter }
                completion(nil)
            case .failure(let error): completion(CoordinationFailure.error(.control(error), url))
            }
        }
    }

    func withdraw(_ presenter: RegisteredPresenter) {
        presented.known.withLock { $0[presenter.number] = nil }
        session.withdraw(presenter.number) {}
    }

    /// The mount sees every move itself.
    func moved(_ old: URL, to new: URL, within claims: [HeldClaim], by presenter: UInt64?) {}

    /// The daemon knows them itself.
    func changedUbiquityAttributes(_ keys: Set<String>, of url: URL, by presenter: UInt64?) {}
}

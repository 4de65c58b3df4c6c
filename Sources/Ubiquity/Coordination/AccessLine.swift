import Dispatch
import Model
import Synchronization

/// Takes the claims of one call, domain after domain in the order of their ranks, so that two calls over the same
/// domains cannot wait for each other.
enum AccessLine {
    /// Claims in the domains of all items of a call.
    struct Grant: Sendable {
        /// The current URLs of the items, in the order of the request.
        var urls: [URL]
        fileprivate(set) var claims: [(domain: any CoordinationDomain, claim: DomainClaim)] = []

        var held: [HeldClaim] {
            claims.map { HeldClaim(domain: ObjectIdentifier($0.domain), number: $0.claim.number) }
        }
    }

    static func acquire(
        _ request: AccessRequest, completion: @escaping @Sendable (Result<Grant, NSError>) -> Void
    ) {
        var parts: [ItemPath: (domain: any CoordinationDomain, indices: [Int])] = [:]
        for (index, item) in request.items.enumerated() {
            let domain = CoordinationDomains.domain(of: item.url)
            parts[ItemPath(domain.rank), default: (domain, [])].indices.append(index)
        }
        let order = parts.sorted { $0.key < $1.key }.map(\.value)
        acquire(order[...], request, Grant(urls: request.items.map(\.url)), completion)
    }

    private static func acquire(
        _ parts: ArraySlice<(domain: any CoordinationDomain, indices: [Int])>, _ request: AccessRequest,
        _ grant: Grant, _ completion: @escaping @Sendable (Result<Grant, NSError>) -> Void
    ) {
        guard let (domain, indices) = parts.first else { return completion(.success(grant)) }
        var part = request
        part.items = indices.map { request.items[$0] }
        part.within = request.within.filter { $0.domain == ObjectIdentifier(domain) }
        let rest = parts.dropFirst()
        domain.claim(part) { result in
            switch result {
            case .success(let claim):
                var next = grant
                next.claims.append((domain, claim))
                for (place, index) in indices.enumerated() { next.urls[index] = claim.urls[place] }
                acquire(rest, request, next, completion)
            case .failure(let error):
                release(grant) { completion(.failure(error)) }
            }
        }
    }

    /// Releases the claims, the last one first.
    static func release(_ grant: Grant, completion: @escaping @Sendable () -> Void) {
        var rest = grant
        guard let (domain, claim) = rest.claims.popLast() else { return completion() }
        let left = rest
        domain.release(claim) { release(left, completion: completion) }
    }

    // MARK: Blocking

    static func release(_ grant: Grant) { waiting { completion in release(grant) { completion(()) } } }

    /// Blocks the thread until the completion is called; meanwhile the messages of presenters on the thread's queue are
    /// delivered by it.
    static func waiting<Value: Sendable>(_ body: (@escaping @Sendable (Value) -> Void) -> Void) -> Value {
        let answer = Mutex<Value?>(nil)
        let isThere = DispatchSemaphore(value: 0)
        body { value in
            answer.withLock { $0 = value }
            isThere.signal()
        }
        QueueWork.shared.block(on: isThere) { answer.withLock { $0 != nil } }
        guard let value = answer.withLock({ $0 }) else {
            preconditionFailure("the wait ended without an answer")
        }
        return value
    }
}

import Coordination
import Glibc
import Logging
package import Model
import Remote
import Replica
import Synchronization

/// A session of the control API.
package struct SessionID: Hashable, Sendable {
    package let rawValue: UInt64
    var client: ClientID { ClientID(rawValue) }
}

/// The requests of programs behind the control API.
extension Claims {
    /// - Throws: ``FileError`` with `busy` at the limit of sessions.
    package func admit() throws(FileError) {
        if state.withLock({ $0.clients.count >= Self.clientLimit }) { throw Self.tooManyClients }
    }

    private static let tooManyClients = FileError(.busy, "there are \(clientLimit) sessions already; end some")

    /// - Parameters:
    ///   - process: The peer, as the kernel reports it; its death ends the session.
    ///   - descriptor: A pidfd of it, if the kernel gave one.
    ///   - withholdsDownloads: Whether the process and its descendants may not download by reading during the session.
    ///   - deliver: Takes events and never waits.
    ///   - whenGone: Called when the process is dead.
    /// - Throws: ``FileError`` with `busy` at the limit of sessions.
    package func open(
        process: Int32, descriptor: Int32?, withholdsDownloads: Bool = false,
        deliver: @escaping @Sendable (SessionEvent) -> Void, whenGone: @escaping @Sendable () -> Void
    ) throws(FileError) -> SessionID {
        let id = state.withLock { state -> ClientID? in
            guard state.clients.count < Self.clientLimit else { return nil }
            state.lastClient += 1
            let id = ClientID(state.lastClient)
            state.clients[id] = Client(
                process: ProcessID(process), deliver: deliver, withholdsDownloads: withholdsDownloads)
            return id
        }
        guard let id else {
            if let descriptor { Glibc.close(descriptor) }
            throw Self.tooManyClients
        }
        if withholdsDownloads { downloadRules.withhold(from: ProcessID(process)) }
        let watch = HolderWatch(process: process, descriptor: descriptor) { [weak self] in
            self?.close(SessionID(rawValue: id.rawValue))
            whenGone()
        }
        let isOver = state.withLock { state in
            state.clients[id]?.watch = watch
            return state.clients[id] == nil
        }
        if isOver { watch?.cancel() }
        return SessionID(rawValue: id.rawValue)
    }

    /// Ends everything that a session holds and waits for. Does nothing if the session is over.
    package func close(_ session: SessionID) {
        let client = state.withLock { state -> Client? in
            guard let client = state.clients.removeValue(forKey: session.client) else { return nil }
            for set in client.claims.values {
                state.owners[set] = nil
                state.downloads.removeValue(forKey: set)?.raise()
            }
            for presenter in client.presenters.values { state.presenters[presenter] = nil }
            return client
        }
        guard let client else { return }
        client.watch?.cancel()
        places.packages.set([], of: session.client)
        if client.withholdsDownloads { downloadRules.restore(client.process) }
        lockManager.perform { table, now in table.clientEnded(session.client, now: now) }
    }

    /// Requests a claim; its progress is reported as events.
    ///
    /// One that was granted by the daemon before goes on.
    package func request(_ request: ClaimRequest, from session: SessionID) throws(FileError) {
        if let former = request.heldBy { return try adopt(request, of: former, from: session) }
        var set = try self.set(for: request, claims(for: request), from: session)
        try own(set, session)
        let isWaiting: Bool
        do throws(ClaimError) {
            if let seconds = request.timeoutSeconds { set.deadline = lockManager.now + .seconds(seconds) }
            let wanted = set
            isWaiting = try change { state, now throws(ClaimError) in
                let effects = try state.table.request(wanted, now: now)
                return (state.table.isWaiting(wanted.id), effects)
            }
        } catch {
            forget(set.id, named: request.claim, of: session)
            throw FileError(error)
        }
        guard isWaiting else { return }
        let ahead = lockManager.ask { [now = lockManager.now] in $0.processesAhead(of: set.id, now: now) }
        guard !ahead.isEmpty else { return }
        let deliver = state.withLock { $0.clients[session.client]?.deliver }
        deliver?(.waiting(claim: request.claim, for: ahead.map { Self.describe($0) }.joined(separator: ", ")))
    }

    /// Makes a set that of a session.
    func own(_ set: ClaimSet, _ session: SessionID) throws(FileError) {
        let name = set.clientNumber ?? 0
        let isNew = state.withLock { state -> Bool? in
            guard let claims = state.clients[session.client]?.claims else { return nil }
            guard claims[name] == nil else { return false }
            state.clients[session.client]?.claims[name] = set.id
            state.owners[set.id] = .client(session.client, name)
            return true
        }
        guard let isNew else { throw FileError(.cancelled, "the session is over") }
        guard isNew else { throw FileError(.exists, "claim \(name) is in use in this session") }
    }

    package func release(_ name: UInt64, of session: SessionID) throws(FileError) {
        let set = try claim(name, of: session)
        forget(set, named: name, of: session)
        change { state, now in ((), state.table.release(set, now: now)) }
        let deliver = state.withLock { $0.clients[session.client]?.deliver }
        deliver?(.released(claim: name))
    }

    /// Cancels a waiting claim; does nothing to a granted one.
    package func cancel(_ name: UInt64, of session: SessionID) throws(FileError) {
        let set = try claim(name, of: session)
        lockManager.perform { table, now in table.cancelClaims(set, now: now) }
    }

    package func cancelCoordinator(_ name: String, of session: SessionID) {
        lockManager.perform { table, now in
            table.cancel(Self.coordinator(name, of: session), of: session.client, now: now)
        }
    }

    /// Revokes a claim, granted or waiting.
    ///
    /// - Throws: ``FileError`` with `notFound` when no claim has that number.
    package func breakClaim(_ id: UInt64) throws(FileError) {
        let set = ClaimSetID(id)
        let isThere = change { state, now in
            let isThere = state.table.claimSet(set) != nil
            return (isThere, state.table.revoke(set, now: now))
        }
        guard isThere else { throw FileError(.notFound, "there is no claim \(id); see: dewpoint locks") }
        logger.notice("claim revoked", metadata: ["claim": "\(id)"])
    }

    /// Declares directories with these extensions to be file packages while the session lasts, in place of those that it
    /// declared before.
    package func declarePackages(_ extensions: [String], of session: SessionID) throws(FileError) {
        let folded = try DeclaredPackages.folded(extensions)
        let isOpen = state.withLock { state in
            guard state.clients[session.client] != nil else { return false }
            // Under the lock: a session that ends now takes its extensions along.
            places.packages.set(folded, of: session.client)
            return true
        }
        guard isOpen else { throw FileError(.cancelled, "the session is over") }
    }

    // MARK: Presenters

    package func present(_ request: PresenterRequest, from session: SessionID) throws(FileError) {
        let item: ClaimItem?
        if let path = request.path { item = try places.item(at: path, followingLink: false) } else { item = nil }
        let registered = state.withLock { state -> (PresenterID, ProcessID)? in
            guard let client = state.clients[session.client] else { return nil }
            if let known = client.presenters[request.presenter] { return (known, client.process) }
            state.lastPresenter += 1
            let id = PresenterID(state.lastPresenter)
            state.clients[session.client]?.presenters[request.presenter] = id
            state.presenters[id] = (session.client, request.presenter)
            return (id, client.process)
        }
        guard let (id, process) = registered else { throw FileError(.cancelled, "the session is over") }
        let presenter = Presenter(
            id, client: session.client, process: process, item: item, purpose: request.purpose.map { PurposeID($0) },
            methods: Set(request.methods), observedAttributes: request.observedAttributes.map { Set($0) })
        do throws(ClaimError) {
            try change { state, _ throws(ClaimError) in ((), try state.table.registering(presenter)) }
        } catch {
            forgetPresenter(id, named: request.presenter, of: session)
            throw FileError(error)
        }
        // The session was closed during the registration: nothing else would remove the presenter.
        if state.withLock({ $0.clients[session.client] == nil }) {
            lockManager.perform { table, now in table.unregister(id, now: now) }
        }
        let deliver = state.withLock { $0.clients[session.client]?.deliver }
        deliver?(.registered(presenter: request.presenter))
    }

    package func withdraw(_ name: UInt64, of session: SessionID) throws(FileError) {
        guard let id = state.withLock({ $0.clients[session.client]?.presenters[name] }) else {
            throw FileError(.notFound, "there is no presenter \(name) in this session")
        }
        forgetPresenter(id, named: name, of: session)
        lockManager.perform { table, now in table.unregister(id, now: now) }
        let deliver = state.withLock { $0.clients[session.client]?.deliver }
        deliver?(.registered(presenter: name))
    }

    package func answer(_ reply: PresenterReply) {
        let answer: PresenterAnswer =
            reply.error.map { .failed($0) } ?? (reply.reacquires == true ? .willReacquire : .done)
        change { state, now in
            ((), state.table.answered(QuestionID(rawValue: reply.question), answer, now: now))
        }
    }

    // MARK: Names

    private func claim(_ name: UInt64, of session: SessionID) throws(FileError) -> ClaimSetID {
        guard let set = state.withLock({ $0.clients[session.client]?.claims[name] }) else {
            throw FileError(.notFound, "there is no claim \(name) in this session")
        }
        return set
    }

    func forget(_ set: ClaimSetID, named name: UInt64, of session: SessionID) {
        state.withLock { state in
            state.owners[set] = nil
            state.clients[session.client]?.claims[name] = nil
            state.downloads.removeValue(forKey: set)?.raise()
        }
    }

    private func forgetPresenter(_ id: PresenterID, named name: UInt64, of session: SessionID) {
        state.withLock { state in
            state.presenters[id] = nil
            state.clients[session.client]?.presenters[name] = nil
        }
    }

    /// Coordinators of different sessions are distinct even if they have the same name.
    private static func coordinator(_ name: String, of session: SessionID) -> CoordinatorID {
        CoordinatorID("\(session.rawValue)/\(name)")
    }

    private func claims(for request: ClaimRequest) throws(FileError) -> [Claim] {
        var claims: [Claim] = []
        for item in request.items {
            let kind = try AccessKind(item)
            let followsLink =
                if case .read(let options) = kind { options.contains(.resolvesSymbolicLink) } else { false }
            let place = try places.place(at: item.path, followingLink: followsLink)
            claims.append(Claim(kind, places.item(place)))
        }
        return claims
    }

    func set(
        for request: ClaimRequest, _ claims: [Claim], from session: SessionID
    ) throws(FileError) -> ClaimSet {
        if let seconds = request.timeoutSeconds, !(seconds > 0 && seconds <= ClaimRequest.timeoutLimitSeconds) {
            throw FileError(
                .invalid, "a timeout must be more than 0 and at most \(Int(ClaimRequest.timeoutLimitSeconds)) seconds")
        }
        let known = state.withLock { state -> (ProcessID, [UInt64: ClaimSetID], [UInt64: PresenterID], UInt64)? in
            guard let client = state.clients[session.client] else { return nil }
            state.lastSet += 1
            return (client.process, client.claims, client.presenters, state.lastSet)
        }
        guard let (process, sets, presenters, number) = known else {
            throw FileError(.cancelled, "the session is over")
        }
        func presenter(_ name: UInt64?) throws(FileError) -> PresenterID? {
            guard let name else { return nil }
            guard let id = presenters[name] else {
                throw FileError(.notFound, "there is no presenter \(name) in this session")
            }
            return id
        }
        let coordinator = Self.coordinator(request.coordinator ?? "claim \(number)", of: session)
        let own = try presenter(request.presenter)
        let purpose =
            request.purpose.map { PurposeID($0) } ?? own.flatMap { id in lockManager.ask { $0.presenter(id)?.purpose } }
            ?? PurposeID(coordinator.rawValue)
        var set = ClaimSet(
            ClaimSetID(number), mode: request.mode == .batch ? .batch : .access, client: session.client,
            process: process, coordinator: coordinator, purpose: purpose, presenter: own,
            fromPresenter: try presenter(request.fromPresenter),
            within: (request.within ?? []).compactMap { sets[$0] }, claims: claims)
        set.clientNumber = request.claim
        return set
    }
}

extension LockTable {
    /// Registers a presenter, as an event without effects.
    fileprivate mutating func registering(_ presenter: Presenter) throws(ClaimError) -> [Effect] {
        try register(presenter)
        return []
    }
}

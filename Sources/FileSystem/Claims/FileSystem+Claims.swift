import Coordination
package import Model

/// Coordinated access, presenters and events, for the control API.
extension FileSystem {
    /// Opens a session: it lasts until ``endSession(_:)`` or until its process exits.
    ///
    /// - Parameters:
    ///   - process: The peer, as the kernel reports it.
    ///   - descriptor: A pidfd of it, if the kernel gave one; closed by this call.
    ///   - withholdsDownloads: Whether the process and its descendants may not download by reading during the session.
    ///   - deliver: Takes events and never waits.
    ///   - whenGone: Called when the process is dead.
    package func openSession(
        process: Int32, descriptor: Int32?, withholdsDownloads: Bool = false,
        deliver: @escaping @Sendable (SessionEvent) -> Void, whenGone: @escaping @Sendable () -> Void
    ) throws(FileError) -> SessionID {
        try coordination.claims.open(
            process: process, descriptor: descriptor, withholdsDownloads: withholdsDownloads, deliver: deliver,
            whenGone: whenGone)
    }

    /// - Throws: ``FileError`` with `busy` at the limit of sessions.
    package func admitSession() throws(FileError) { try coordination.claims.admit() }

    package func endSession(_ session: SessionID) { coordination.claims.close(session) }

    package func claim(_ request: ClaimRequest, from session: SessionID) throws(FileError) {
        try coordination.claims.request(request, from: session)
    }

    package func release(_ claim: UInt64, of session: SessionID) throws(FileError) {
        try coordination.claims.release(claim, of: session)
    }

    /// Cancels a waiting claim; does nothing to a granted one.
    package func cancel(_ claim: UInt64, of session: SessionID) throws(FileError) {
        try coordination.claims.cancel(claim, of: session)
    }

    package func cancelCoordinator(_ name: String, of session: SessionID) {
        coordination.claims.cancelCoordinator(name, of: session)
    }

    package func present(_ request: PresenterRequest, from session: SessionID) throws(FileError) {
        try coordination.claims.present(request, from: session)
    }

    package func withdraw(_ presenter: UInt64, of session: SessionID) throws(FileError) {
        try coordination.claims.withdraw(presenter, of: session)
    }

    /// - Throws: ``FileError`` with `invalid` for too many, too long or unusable extensions.
    package func declarePackages(_ extensions: [String], of session: SessionID) throws(FileError) {
        try coordination.claims.declarePackages(extensions, of: session)
    }

    package func answer(_ reply: PresenterReply) { coordination.claims.answer(reply) }

    /// - Throws: ``FileError`` with `notFound`.
    package func breakClaim(_ id: UInt64) throws(FileError) { try coordination.claims.breakClaim(id) }

    /// - Throws: ``FileError`` with `notFound` when there is nothing at the path, `busy` at the limit of followers.
    package func admitFollower(of path: String) throws(FileError) {
        _ = try resolve(path)
        try coordination.events.admit()
    }

    /// - Returns: The value to pass to ``unfollow(_:)``.
    package func follow(_ path: String, deliver: @escaping @Sendable (ItemNews) -> Void) throws(FileError) -> UInt64 {
        try coordination.events.follow(path, deliver: deliver)
    }

    package func unfollow(_ follower: UInt64) { coordination.events.unfollow(follower) }

    /// - Throws: ``FileError`` with `notFound` when there is nothing at the path, `busy` at the limit of clients.
    package func admitItemFollower(of path: String) throws(FileError) {
        _ = try resolve(path)
        try coordination.followers.admit()
    }

    /// The items at and below a path, and their changes from now on, until ``ItemFeed/end()``.
    package func followItems(_ path: String) throws(FileError) -> ItemFeed {
        let (changes, follower) = try coordination.followers.add(path)
        coordination.transfers.wake()
        return ItemFeed(self, changes, follower: follower)
    }
}

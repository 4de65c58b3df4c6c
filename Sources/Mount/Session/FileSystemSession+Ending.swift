import CFuse
import Dispatch
import Glibc
import Logging
import Synchronization

/// How a mount ends, so that nothing is left behind: no thread, no caller that waits, no dead mountpoint.
extension FileSystemSession {
    /// How long requests that wait may take to let go.
    private static let interruptTimeout = DispatchTimeInterval.seconds(5)
    /// After how long an orderly unmount gives way to force.
    private static let forceDelay = DispatchTimeInterval.seconds(5)
    /// How long the kernel may take to let go of a mount that nobody uses.
    private static let releaseTimeout = DispatchTimeInterval.seconds(1)
    /// How often, and how many times, the loop is told to end.
    private static let wakeInterval = DispatchTimeInterval.milliseconds(20)
    private static let wakeLimit = 500

    /// Unmounts and makes ``run()`` return. Returns at once; may be called from anywhere and more than once.
    ///
    /// Where it is unmounted already, but seen in another mount namespace, its users there get errors from now on: a copy that a container
    /// holds would otherwise keep the daemon, and the state, for as long as the container runs.
    ///
    /// First the plain way, which writes back what is mapped. When files are open there, the mount is taken away from
    /// under them; and when that takes more than 5 s, the connection is cut.
    package func stop() {
        enum Step { case nothing, close(Connection), unmount(Connection) }
        let step: Step = condition.withLock { condition in
            guard !condition.isStopping else { return .nothing }
            switch condition.state {
            case .new, .ended: return .nothing
            case .mounted(let connection):
                condition.isStopping = true
                condition.state = .serving(connection)
                return .close(connection)
            case .serving(let connection):
                condition.isStopping = true
                return .unmount(connection)
            }
        }
        switch step {
        case .nothing: return
        case .close(let connection):
            // Nobody serves, so nothing may be asked of the mount any more: libfuse closes the connection, then
            // unmounts.
            DedicatedThread.start(named: "dewpoint-unmount") { [self] in close(connection) }
        case .unmount(let connection):
            DedicatedThread.start(named: "dewpoint-unmount") { [self] in unmount(connection) }
            DedicatedThread.start(named: "dewpoint-force") { [self] in
                if !hasEnded(within: Self.forceDelay) { force(connection) }
            }
        }
    }

    private func unmount(_ connection: Connection) {
        if detach(connection, lazily: false) {
            condition.withLock { $0.isDetached = true }
            // Unless somebody else had taken it away lazily, or another mount namespace has a copy, the kernel has let go of it by now.
            if hasEnded(within: Self.releaseTimeout) { return }
        } else {
            Mountpoint.writeBack(connection.mountpoint)
        }
        // While requests are still answered: the kernel may hold one of its notifications up until then.
        notifier.end()
        if detach(connection, lazily: true) { condition.withLock { $0.isDetached = true } }
        endLoop(connection)
    }

    /// Makes libfuse's loop return although the kernel still has requests for it.
    ///
    /// The loop looks at its end mark whenever a signal wakes it; a signal that comes just before it sleeps is lost, so
    /// there are several. SIGURG, since nothing uses it and the default is to ignore it.
    private func endLoop(_ connection: Connection) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        sigaction(SIGURG, &action, nil)
        condition.withLock { condition in
            guard case .serving = condition.state else { return }
            fuse_session_exit(connection.session.pointer)
        }
        for _ in 0..<Self.wakeLimit {
            condition.withLock { condition in
                if let loop = condition.loop { pthread_kill(loop, SIGURG) }
            }
            if hasEnded(within: Self.wakeInterval) { return }
        }
        logger.error("the mount does not end; aborting its connection")
    }

    private func hasEnded(within timeout: DispatchTimeInterval) -> Bool {
        guard ended.wait(timeout: .now() + timeout) == .success else { return false }
        // Others wait for it too.
        ended.signal()
        return true
    }

    @discardableResult
    private func detach(_ connection: Connection, lazily: Bool) -> Bool {
        // What is mounted there by now may be somebody else's.
        guard isMounted(connection) else { return true }
        do throws(MountError) {
            try Mountpoint.unmount(connection.mountpoint, lazily: lazily)
            return true
        } catch .notMounted {
            return true
        } catch {
            if lazily { logger.error("not unmounted", metadata: ["error": "\(error)"]) }
            return false
        }
    }

    private func isMounted(_ connection: Connection) -> Bool {
        guard let mount = MountTable.current().mount(at: connection.mountpoint) else { return false }
        return connection.number == nil || mount.minorDevice == connection.number
    }

    /// Cuts the connection: every request ends with an error, and the loop with them. Related: fuse(4), `abort`.
    func force(_ connection: Connection) {
        logger.warning("aborting the FUSE connection", metadata: ["mountpoint": "\(connection.mountpoint)"])
        if geteuid() == 0, isMounted(connection) { umount2(connection.mountpoint, Int32(MNT_FORCE | MNT_DETACH)) }
        connection.abort?.perform()
    }

    /// Lets go of everything, once no FUSE thread runs any more.
    func close(_ connection: Connection) {
        let areDone = parkedRequests.interruptAll(timeout: Self.interruptTimeout)
        notifier.end()
        let isDetached = condition.withLock { condition in
            condition.state = .ended
            return condition.isDetached
        }
        if areDone {
            if !isDetached { fuse_session_unmount(connection.session.pointer) }
            fuse_session_destroy(connection.session.pointer)
            Unmanaged.passUnretained(self).release()
        } else {
            // They will still reply, so the session stays, with nothing behind it: that ends the connection.
            logger.error("waiting requests were not cancelled in time; closing the device")
            let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
            dup2(nothing, fuse_session_fd(connection.session.pointer))
            Glibc.close(nothing)
            if !isDetached { detach(connection, lazily: true) }
        }
        ended.signal()
    }
}

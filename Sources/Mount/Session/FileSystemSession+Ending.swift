import CFuse
import Dispatch
import Glibc
import Model
import Logging
import Synchronization

/// The end of a mount, with nothing left behind: no thread, no waiting caller, no dead mountpoint.
extension FileSystemSession {
    /// How long parked requests may take to reply after they are interrupted.
    private static let interruptTimeout = DispatchTimeInterval.seconds(5)
    /// How long an orderly unmount may take before the connection is aborted.
    private static let forceDelay = DispatchTimeInterval.seconds(5)
    /// How long the kernel may take to release an unused mount.
    private static let releaseTimeout = DispatchTimeInterval.seconds(1)
    /// How often, and how many times, the loop is signalled to end.
    private static let wakeInterval = DispatchTimeInterval.milliseconds(20)
    private static let wakeLimit = 500

    /// Unmounts and makes ``run()`` return. Returns at once; may be called from any thread and more than once.
    ///
    /// If it is unmounted already but visible in another mount namespace, programs there get errors from now on: a copy
    /// held by a container would otherwise keep the daemon, and the state, for as long as the container runs.
    ///
    /// First a plain unmount, which writes back mapped pages. If files are open, a lazy unmount; and if that takes more
    /// than 5 s, the connection is aborted.
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
            // The mount is not served, so it must not be accessed any more: libfuse closes the connection, then
            // unmounts.
            DedicatedThread.start(named: "dewpoint-unmount") { [self] in close(connection) }
        case .unmount(let connection):
            DedicatedThread.start(named: "dewpoint-unmount") { [self] in unmount(connection) }
            DedicatedThread.start(named: "dewpoint-force") { [self] in
                if !hasEnded(within: Self.forceDelay) { force(connection) }
            }
        }
    }

    /// Waits until a mount that was stopped is gone.
    package func waitForEnd() async {
        await withCheckedContinuation { continuation in
            DedicatedThread.start(named: "dewpoint-wait") { [self] in
                ended.wait()
                ended.signal()
                continuation.resume()
            }
        }
    }

    private func unmount(_ connection: Connection) {
        announcer?.end()
        if detach(connection, lazily: false) {
            condition.withLock { $0.isDetached = true }
            // Unless it was unmounted lazily by another program, or another mount namespace has a copy, the kernel has
            // released it by now.
            if hasEnded(within: Self.releaseTimeout) { return }
        } else {
            Mountpoint.writeBack(connection.mountpoint)
        }
        // While requests are still answered: until then the kernel may block one of the notifications.
        notifier.end()
        if detach(connection, lazily: true) { condition.withLock { $0.isDetached = true } }
        endLoop(connection)
    }

    /// Makes libfuse's loop return although the kernel still has requests for it.
    ///
    /// The loop checks its end mark whenever a signal wakes it; a signal that arrives just before it sleeps is lost, so
    /// several are sent. SIGURG, since nothing else uses it and it is ignored by default.
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
        logger.error("the mount did not end in time; aborting its connection")
    }

    private func hasEnded(within timeout: DispatchTimeInterval) -> Bool {
        guard ended.wait(timeout: .now() + timeout) == .success else { return false }
        // Other callers wait for it too.
        ended.signal()
        return true
    }

    @discardableResult
    private func detach(_ connection: Connection, lazily: Bool) -> Bool {
        // Another file system may be mounted there by now.
        guard isMounted(connection) else { return true }
        do throws(MountError) {
            try Mountpoint.unmount(connection.mountpoint, lazily: lazily)
            return true
        } catch .notMounted {
            return true
        } catch {
            if lazily { logger.error("failed to unmount", metadata: ["error": "\(error)"]) }
            return false
        }
    }

    private func isMounted(_ connection: Connection) -> Bool {
        guard let mount = MountTable.current().mount(at: connection.mountpoint) else { return false }
        return connection.number == nil || mount.minorDevice == connection.number
    }

    /// Aborts the connection: every request fails, and with them the loop ends. Related: fuse(4), `abort`.
    func force(_ connection: Connection) {
        logger.warning("aborting the FUSE connection", metadata: ["mountpoint": "\(connection.mountpoint)"])
        if geteuid() == 0, isMounted(connection) { umount2(connection.mountpoint, Int32(MNT_FORCE | MNT_DETACH)) }
        connection.abort?.perform()
    }

    /// Releases everything, once no FUSE thread runs any more.
    func close(_ connection: Connection) {
        survival?.end()
        announcer?.end()
        let areDone = parkedRequests.interruptAll(timeout: Self.interruptTimeout)
        notifier.end()
        let isDetached = condition.withLock { condition in
            condition.state = .ended
            return condition.isDetached
        }
        if areDone {
            if !isDetached { end(connection) }
            fuse_session_destroy(connection.session.pointer)
            Unmanaged.passUnretained(self).release()
        } else {
            // They will still reply, so the session is kept, without its device: that ends the connection.
            logger.error("waiting requests were not cancelled in time; closing the device")
            closeDevice(connection)
            if !isDetached { detach(connection, lazily: true) }
        }
        ended.signal()
    }

    /// Unmounts, without waiting for an answer that nobody gives.
    private func end(_ connection: Connection) {
        guard survival?.isResumed == true else { return fuse_session_unmount(connection.session.pointer) }
        // libfuse has not mounted it.
        closeDevice(connection)
        detach(connection, lazily: true)
    }

    private func closeDevice(_ connection: Connection) {
        let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
        dup2(nothing, fuse_session_fd(connection.session.pointer))
        Glibc.close(nothing)
    }
}

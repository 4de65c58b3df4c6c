import CFuse
import FileSystem
import Glibc
import Logging
package import Model

/// Serving a mount whose daemon was killed.
extension FileSystemSession {
    /// Whether the mount goes on when its daemon is killed.
    package var survives: Bool { survival != nil && wire.agreed.contains(.resending) }

    /// How long the request for it has to be answered.
    private static let answerTime = Duration.milliseconds(100)

    /// Ends this daemon, so that its supervisor starts the program that is installed now. It ends as if it were killed: what it
    /// has answered is kept then, and what it has not comes again.
    ///
    /// - Parameter program: The path of that program.
    /// - Throws: `unsupported` when the mount would end, `invalid` when the supervisor starts another program.
    package func giveWay(to program: String) throws(FileError) {
        let ending = FileError(
            .unsupported,
            "the mount ends with its daemon, as it has no supervisor; unmount, and mount with -o survive")
        guard survives, let survival else { throw ending }
        let own = CommandLine.arguments[0]
        guard program.utf8.elementsEqual(own.utf8) else {
            throw FileError(.invalid, "the mount was made by \(own): run \(own) upgrade")
        }
        guard survival.supervisor.expectsEnd() else { throw ending }
        logger.notice("ending, so that the installed version takes the place of this one")
        Task {
            try? await Task.sleep(for: Self.answerTime)  // never cancelled
            kill(getpid(), SIGKILL)
        }
    }

    func note(_ survival: ContainerStatus.Survival) {
        fileSystem.note(survival)
        if survival.obstacle != nil { logger.warning("\(survival.sentence)") }
    }

    /// Makes libfuse begin, with the kernel's first request as it was kept; then asks the kernel for the requests that the
    /// daemon before had read and not answered.
    ///
    /// On one thread, before the others read: libfuse refuses all requests before it has begun.
    func beginAnew(_ connection: Connection) {
        let session = connection.session.pointer
        var buffer = fuse_buf()
        if fuse_session_receive_buf(session, &buffer) > 0 { fuse_session_process_buf(session, &buffer) }
        free(buffer.mem)
        survival?.keep(connection: fuse_session_fd(session))
        // What the daemon before was about to tell the kernel is lost with it.
        fileSystem.everythingChanged()
        connection.session.notifyResend()
        logger.notice(
            "took the place of a daemon that was killed",
            metadata: ["replacements": "\(survival?.slots.replacementCount ?? 0)"])
    }

    /// The handles that an open of the daemon before had made for a request that came again are no program's.
    func releaseUnanswered(_ caller: Caller, except opened: OpenedFile) {
        guard let request = caller.request, request.isRepeated else { return }
        fileSystem.releaseUnanswered(request, except: opened.handle, by: caller, releaseBacking: releaseBacking)
    }
}

extension SessionPointer {
    /// `FUSE_NOTIFY_RESEND` of Linux 6.9, which libfuse does not know.
    func notifyResend() { _ = notify(7) }

    /// `FUSE_NOTIFY_INC_EPOCH` of Linux 6.16: the kernel looks up every name anew.
    ///
    /// - Returns: Whether the kernel knows it.
    func notifyEpoch() -> Bool { notify(8) }

    /// - Returns: Whether the kernel took it.
    private func notify(_ code: UInt32) -> Bool {
        // fuse_out_header: length, code, unique.
        var header = (UInt32(16), code, UInt64(0))
        return withUnsafeBytes(of: &header) { write(fuse_session_fd(pointer), $0.baseAddress!, $0.count) } > 0
    }
}

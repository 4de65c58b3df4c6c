import Glibc
import Model
import Synchronization
import Linux

/// Identifies the account whose containers a program uses: the users that mounted them, and their identifiers.
///
/// Equal in every process, and across restarts, as long as the same users mount the same containers of the program.
enum IdentityToken {
    static func current() -> NSData? {
        let lines = Set(
            ProgramContainers.mounted().map { "\($0.container.owner.map(String.init) ?? "") \($0.identifier)\n" })
        guard !lines.isEmpty else { return nil }
        return NSData(data: Data(lines.sorted().joined().utf8))
    }
}

/// Watches the mounts of this process, and posts `NSUbiquityIdentityDidChange` when the token changes.
///
/// One thread, which waits in poll(2), for the rest of the process's life. It is started by the first use of the
/// notification's name or of the token: a program cannot observe the notification without either.
enum IdentityWatch {
    private static let isStarted = Mutex(false)
    private static let stackByteCount = 256 << 10

    static func start() {
        let isFirst = isStarted.withLock { started in
            defer { started = true }
            return !started
        }
        guard isFirst else { return }
        // Opened, and the token taken, before the caller goes on: no later change is missed.
        guard let file = try? Descriptor("/proc/self/mountinfo") else { return }  // without /proc there are no mounts
        let known = Snapshot(token: IdentityToken.current())
        let thread = Thread { watch(file, known) }
        thread.name = "ubiquity-identity"
        thread.stackSize = stackByteCount
        thread.start()
    }

    private struct Snapshot: @unchecked Sendable {
        // Unchecked, since NSData is not declared Sendable. It is immutable.
        let token: NSData?
    }

    private static func watch(_ file: Descriptor, _ first: Snapshot) {
        var known = first
        while true {
            // The kernel reports a change of the table as POLLPRI, and once for each open file. Related: proc(5).
            var request = pollfd(fd: file.rawValue, events: Int16(POLLPRI), revents: 0)
            do throws(FileError) { try SystemCalls.check("poll") { poll(&request, 1, -1) } } catch { return }
            let now = Snapshot(token: IdentityToken.current())
            guard now.token != known.token else { continue }
            known = now
            NotificationCenter.default.post(name: NSNotification.Name(identityDidChangeName), object: nil)
        }
    }

    static let identityDidChangeName = "NSUbiquityIdentityDidChangeNotification"
}

extension NSNotification.Name {
    /// Posted when ``FileManager/ubiquityIdentityToken`` has changed: a container of the program was mounted or
    /// unmounted. Discard what belongs to the former account, and ask for the containers again.
    ///
    /// Differences from Apple's: posted on a thread of this library, not on the main thread. Observe it by this name:
    /// using the name starts the watch, a string with the same text does not.
    public static var NSUbiquityIdentityDidChange: NSNotification.Name {
        IdentityWatch.start()
        return NSNotification.Name(IdentityWatch.identityDidChangeName)
    }
}

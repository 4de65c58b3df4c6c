import ControlAPI
import Foundation
import Glibc
import Linux
import Synchronization

/// Opens a link in the browser of the desktop, without showing it to other users: the arguments of a program are in
/// `/proc` for all to read. So the browser gets the path of a file that only this user can read, and that leads on.
final class BrowserLauncher: Sendable {
    private let directory: String
    private let page = Mutex<String?>(nil)

    /// - Returns: `nil` when there is no display, or no place that other users cannot look into.
    init?(environment: [String: String]) {
        let displays = ["DISPLAY", "WAYLAND_DISPLAY"].compactMap { environment[$0] }
        guard displays.contains(where: { !$0.isEmpty }),
            let socket = try? ControlSocket.prepare(mountpoint: "/", environment: environment)
        else { return nil }
        directory = socket.directory
    }

    /// How long the browser has to read the file.
    private static let pageLifetime = 60.0

    /// Returns at once; without `xdg-open`, or if it fails, nothing happens.
    func open(_ url: String) {
        let path = "\(directory)/dashboard-\(getpid()).html"
        unlink(path)
        let file = try? Descriptor(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        guard let file else { return }
        page.withLock { $0 = path }
        let text = """
            <!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Dewpoint</title>
            <meta http-equiv="refresh" content="0; url=\(url)"><p><a href="\(url)">Dewpoint dashboard</a></p>

            """
        // On a full disk no browser is opened; the link was printed.
        guard (try? file.write(Array(text.utf8), at: 0)) != nil else { return }
        Thread.detachNewThread { [self] in
            Self.run("xdg-open", path)
            Thread.sleep(forTimeInterval: Self.pageLifetime)
            removePage()
        }
    }

    func removePage() {
        page.withLock { page in
            if let page { unlink(page) }
            page = nil
        }
    }

    /// Runs a program found through `PATH`, without input and output, and waits for it.
    private static func run(_ program: String, _ argument: String) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        for output in [STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Our threads block signals; the browser must start with none blocked, and Control-C is not meant for it.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
        var arguments = [strdup(program), strdup(argument), nil]
        var variables = ProcessInfo.processInfo.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var process: pid_t = 0
        guard posix_spawnp(&process, program, &actions, &attributes, &arguments, &variables) == 0 else { return }
        _ = SystemCalls.wait(for: process)
    }
}

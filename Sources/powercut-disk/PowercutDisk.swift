import Glibc

/// A disk whose power can be cut, for `scripts/powercut`.
///
///     powercut-disk IMAGE DIRECTORY SEED
///
/// Mounts a file system with one file, `disk`, at DIRECTORY. On SIGUSR1 the power goes: of what was not flushed some is
/// lost, and every call fails from then on. The image then has what a disk would have.
@main
struct PowercutDisk {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let seed = UInt64(arguments[3]) else {
            say("usage: powercut-disk IMAGE DIRECTORY SEED")
            exit(64)
        }
        do throws(DiskError) {
            let disk = try VolatileDisk(image: arguments[1])
            cutOnSignal(disk, seed)
            try DiskFileSystem.serve(disk, at: arguments[2])
        } catch {
            say("powercut-disk: \(error)")
            exit(1)
        }
    }

    private static func say(_ text: String) {
        let line = Array("\(text)\n".utf8)
        // Nobody is left to tell when this fails.
        _ = write(STDERR_FILENO, line, line.count)
    }

    /// Waits for the signal on a thread of its own: what runs then is no signal handler, and may take locks.
    private static func cutOnSignal(_ disk: VolatileDisk, _ seed: UInt64) {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGUSR1)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let wait = Wait(disk: disk, seed: seed, signals: signals)
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { context in
                Unmanaged<Wait>.fromOpaque(context!).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(wait).toOpaque())
    }

    private final class Wait {
        private let disk: VolatileDisk
        private let seed: UInt64
        private var signals: sigset_t

        init(disk: VolatileDisk, seed: UInt64, signals: sigset_t) {
            self.disk = disk
            self.seed = seed
            self.signals = signals
        }

        func run() {
            var signal: Int32 = 0
            while sigwait(&signals, &signal) == 0 {
                if let outcome = disk.cut(seed: seed) { PowercutDisk.say(outcome) }
            }
        }
    }
}

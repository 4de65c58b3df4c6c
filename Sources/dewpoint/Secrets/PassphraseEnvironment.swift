import Foundation
import Glibc
import Synchronization

/// The passphrase in the environment, taken out of it before anything else: no child process gets it.
enum PassphraseEnvironment {
    static let variable = "DEWPOINT_PASSPHRASE"
    /// A command that prints it.
    static let commandVariable = "DEWPOINT_PASSPHRASE_COMMAND"

    private static let taken = Mutex<[UInt8]?>(nil)

    /// Its bytes, as they were; `nil` when there was none.
    static var passphrase: [UInt8]? { taken.withLock { $0 } }

    /// Must be called first, while there is one thread.
    static func take() {
        guard let text = getenv(variable) else { return }
        let bytes = Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
        taken.withLock { $0 = bytes }
        // Also from where /proc/PID/environ shows it.
        memset(text, 0, strlen(text))
        unsetenv(variable)
    }
}

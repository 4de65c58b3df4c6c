import Foundation
import Glibc
import Linux

/// The terminal of whoever runs the command, even where standard input and output are something else.
enum PassphrasePrompt {
    private static var hasTerminal: Bool {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        if terminal >= 0 { close(terminal) }
        return terminal >= 0
    }

    /// Asks without showing what is typed.
    ///
    /// - Returns: `nil` without a terminal.
    static func ask(_ question: String) throws -> String? {
        guard hasTerminal else { return nil }
        let cleanup = try Self.restoringTerminal()
        defer { cleanup?.end() }
        // Of the C library; it takes the keys for signals as letters, and a signal of another program ends it with echo off.
        guard let text = getpass("\(question): ") else {
            throw CommandFailure(.failed, "nothing was entered; nothing was changed")
        }
        defer { memset(text, 0, strlen(text)) }
        let answer = UnsafeRawBufferPointer(start: text, count: strlen(text))
        // getpass(3) takes the keys that would end the program for letters.
        guard !answer.contains(3) else { throw CommandFailure(.failed, "cancelled; nothing was changed") }
        guard !answer.isEmpty else { throw CommandFailure(.usage, "nothing was entered; nothing was changed") }
        return try PassphraseText.decode(answer, from: "what was entered")
    }

    /// A shell whose terminal stays without echo shows nothing of what is typed.
    private static func restoringTerminal() throws -> SignalCleanup? {
        let terminal = try Descriptor("/dev/tty", O_RDWR | O_NOCTTY)
        var settings = termios()
        guard tcgetattr(terminal.rawValue, &settings) == 0 else { return nil }
        return SignalCleanup { [settings] in
            var settings = settings
            tcsetattr(terminal.rawValue, TCSANOW, &settings)
        }
    }

    /// - Returns: Whether there is a terminal that shows it.
    static func show(_ text: String) -> Bool {
        guard let terminal = FileHandle(forWritingAtPath: "/dev/tty") else { return false }
        defer { try? terminal.close() }  // nothing is buffered
        return (try? terminal.write(contentsOf: Data(text.utf8))) != nil
    }

    /// - Throws: ``CommandFailure`` with `usage` where ``show(_:)`` would show nothing.
    static func checkTerminal(orGive option: String) throws(CommandFailure) {
        guard hasTerminal else {
            throw CommandFailure(
                .usage, "the recovery code is shown on a terminal, and there is none; give \(option) FILE")
        }
    }
}

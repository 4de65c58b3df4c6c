import Foundation
import Glibc

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
        // Of the C library, which restores the terminal whatever happens; see getpass(3).
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

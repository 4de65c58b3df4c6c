import ArgumentParser
import Daemon
import Foundation
import Model
import NamedMounts

struct EditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit", abstract: "Opens the file of the named mounts in an editor, and checks it.",
        discussion: """
            The editor is $VISUAL, $EDITOR or the command editor. Changes apply to the next mount. `dewpoint add` and `dewpoint remove` \
            change the same file and keep its comments.
            """)

    @Flag(help: "Only check the file.")
    var check = false

    @Flag(help: "With --check: print the file, its mounts and its mistakes as JSON.")
    var json = false

    func validate() throws {
        if json, !check { throw ValidationError("--json is for --check") }
    }

    func run() async throws {
        let inheritance = Inheritance()
        let file = MountsFile(.current())
        guard !check else { return try report(file) }
        try file.createIfMissing()
        while true {
            try await open(file, inheritance)
            try file.restrict()
            do {
                return try report(file)
            } catch let failure as CommandFailure where isatty(STDIN_FILENO) == 1 {
                failure.report()
                FileHandle.standardError.write(Data("edit it again? [Y/n] ".utf8))
                let answer = readLine()?.trimmingCharacters(in: .whitespaces).lowercased()
                guard let answer, ["", "y", "yes"].contains(answer) else {
                    throw CommandFailure(failure.status, "\(file.path) still has mistakes; see: dewpoint edit --check")
                }
            }
        }
    }

    private func open(_ file: MountsFile, _ inheritance: Inheritance) async throws {
        let variables = ProcessInfo.processInfo.environment
        let editor = ["VISUAL", "EDITOR"].compactMap { variables[$0] }.first { !$0.isEmpty } ?? "editor"
        // Through a shell, since the variables may contain arguments, as for git(1).
        let child = try ChildProcess(
            ["sh", "-c", "\(editor) \"$@\"", editor, file.path], environment: [:], inheritance: inheritance)
        let status = await child.status()
        guard status == 0 else {
            throw CommandFailure(
                .failed, "the editor \(editor) exited with status \(status); choose another one with VISUAL")
        }
    }

    private struct Report: Encodable {
        struct Mistake: Encodable {
            let line: Int
            let column: Int
            let mount: String?
            let message: String
        }

        let file: String
        let mounts: [ListedMount]
        let mistakes: [Mistake]
    }

    /// - Throws: The last mistake; those before it are reported.
    private func report(_ file: MountsFile) throws {
        let document = try file.read()
        if json {
            try JSONOutput.print(
                Report(
                    file: file.path, mounts: document.mounts.map { ListedMount($0, .current()) },
                    mistakes: document.problems.map {
                        .init(line: $0.line, column: $0.column, mount: $0.name, message: $0.sentence)
                    }))
        }
        let failures = document.problems.map { CommandFailure($0, in: document, of: file, isEditing: true) }
        for failure in failures.dropLast() { failure.report() }
        if let last = failures.last { throw last }
        if !json {
            let count = document.mounts.count
            print("\(file.path) is correct: \(count) \(count == 1 ? "mount" : "mounts")".printable)
        }
    }
}

import ArgumentParser
import Foundation
import Sealing

struct OpenShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open-share",
        abstract: "Saves a file that was shared from an encrypted container.",
        discussion: """
            It does what the page behind the link does in a browser, and needs neither that page nor a container, a mount or keys. The \
            file is verified while it arrives, and gets its name when all of it is there; an existing file is never replaced.

            dewpoint open-share 'https://notes.s3.example.com/shares/5b0e….html?…#2.…' --output ~/Downloads
            """)

    @Argument(
        help: ArgumentHelp(
            "The whole link, in quotes; - reads it from standard input, so that other users of this machine do not see it among the processes.",
            valueName: "link"))
    var link: String

    @Option(
        help: ArgumentHelp(
            "The new file, or the directory to save it in. (default: its name in the link, in the current directory)",
            valueName: "path"),
        completion: .file())
    var output: String?

    func run() async throws {
        let text = link == "-" ? readLine() ?? "" : link
        try await SharedDownload(SharedDownload.parse(text.trimmingCharacters(in: .whitespacesAndNewlines)), to: output)
            .run()
    }
}

import ArgumentParser
import ControlAPI
import Foundation
import Glibc
import Model

struct PreviewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preview",
        abstract: "Writes the preview of a picture, video or document to standard output, without a download.",
        discussion: """
            dewpoint preview Photos/summer.jpg > small.jpg

            A preview is a JPEG of at most 16 KiB. It is made by the desktop of a device that has the file, or set by a program:

            setfattr -n user.dewpoint.preview -v 0s$(base64 -w 0 small.jpg) Photos/summer.jpg
            """)

    @Argument(help: "A file in a mounted container.", completion: .file())
    var path: String

    func run() async throws {
        guard isatty(STDOUT_FILENO) == 0 else {
            throw ValidationError("a JPEG is not for a terminal; redirect it: dewpoint preview FILE > small.jpg")
        }
        let place = try MountedPath(path)
        let answer = try await place.send(PreviewsRequest(paths: [place.path]))
        guard let preview = answer.previews.first?.preview else {
            // An item that is not there is another matter.
            _ = try await place.send(ItemStatusRequest(path: place.path))
            throw CommandFailure(.failed, "\(path) has no preview")
        }
        try FileHandle.standardOutput.write(contentsOf: preview)
    }
}

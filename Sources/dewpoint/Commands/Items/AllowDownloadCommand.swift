import ArgumentParser
import ControlAPI
import ControlClient
import Model

struct AllowDownloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "allow-download",
        abstract: "Lets a program go on that is held since it downloads too much by reading.",
        discussion: """
            dewpoint status names the programs that are held by the mount options storm_files and storm_bytes. The answer holds for the \
            whole process group, for as long as it lasts. With --refuse its reads of what is not here fail with EDEADLK instead.
            """)

    @Argument(help: ArgumentHelp("A process, or a process group.", valueName: "process"))
    var processes: [Int32]

    @Flag(help: "Do not let it: its reads fail.")
    var refuse = false

    func validate() throws {
        if processes.isEmpty { throw ValidationError("give at least one process") }
        if let wrong = processes.first(where: { $0 < 0 }) { throw ValidationError("\(wrong) is no process") }
    }

    func run() async throws {
        for process in processes { try await answer(process) }
    }

    private func answer(_ process: Int32) async throws {
        var isKnown = false
        var failure: ControlError?
        for mount in try MountTable.current().containers {
            do {
                try await MountedPath.withClient(of: mount) {
                    try await $0.answerStorm(of: process, isAllowed: !refuse)
                }
                isKnown = true
            } catch ControlError.refused(let error) where error.code == .notFound {
                continue  // it reads in another container
            } catch let error as ControlError {
                failure = error
            }
        }
        guard isKnown else {
            if let failure { throw failure }
            throw CommandFailure(.notFound, "process \(process) has not downloaded anything by reading")
        }
    }
}

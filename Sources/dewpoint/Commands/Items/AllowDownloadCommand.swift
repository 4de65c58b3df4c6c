import ArgumentParser
import ControlAPI
import ControlClient
import Model

struct AllowDownloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "allow-download",
        abstract: "Resumes a program blocked for exceeding the download limit.",
        discussion: """
            `dewpoint status` lists programs blocked by the mount options storm_files and storm_bytes. The answer applies to the whole process \
            group until it exits. With --refuse, its reads of files that are not downloaded fail with EDEADLK.
            """)

    @Argument(help: ArgumentHelp("A process id, or a process group id.", valueName: "process"))
    var processes: [Int32]

    @Flag(help: "Refuse the downloads instead; the reads fail with EDEADLK.")
    var refuse = false

    func validate() throws {
        if processes.isEmpty { throw ValidationError("give at least one process") }
        if let wrong = processes.first(where: { $0 < 0 }) { throw ValidationError("\(wrong) is not a process id") }
    }

    func run() async throws {
        for process in processes { try await answer(process) }
    }

    private func answer(_ process: Int32) async throws {
        var isKnown = false
        var failure: ControlError?
        for mount in MountTable.current().containers {
            do {
                try await MountedPath.withClient(of: mount) {
                    try await $0.send(StormAnswerRequest(process: process, allowed: !refuse))
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

import ArgumentParser
import ControlAPI
import ControlClient
import Model

struct EvictCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict",
        abstract: "Removes the local copy of items; they stay listed, and are downloaded again when read.",
        discussion: """
            Prints what was freed, and what stayed and why. The exit status is 75 if anything stayed that was to be evicted.
            """)

    @Argument(help: "Items in mounted containers.", completion: .file())
    var paths: [String]

    @Flag(help: "Print a JSON array.")
    var json = false

    func validate() throws {
        if paths.isEmpty { throw ValidationError("give at least one path") }
    }

    func run() async throws {
        var reports: [EvictionReport] = []
        var failure: (any Error)?
        do {
            try await CommandFailure.forEach(paths) { place in
                guard let report = try await place.send(EvictRequest(path: place.path, report: true)).report else {
                    throw ControlError.notUnderstood("there is no report")
                }
                reports.append(report)
                if !json { print(EvictionText.text(report, given: place.given)) }
                if let failure = EvictionText.failure(report, path: { "\(place.mount.mountpoint)/\($0)" }) {
                    throw failure
                }
            }
        } catch {
            failure = error
        }
        if json { try JSONOutput.print(reports) }
        if let failure { throw failure }
    }
}

/// The outcome of an eviction for people.
enum EvictionText {
    /// How many evicted files are named.
    private static let namedLimit = 20

    /// `Photos: freed 3.5 MiB in 2 files: Photos/a.jpg, Photos/b.jpg`
    static func text(_ report: EvictionReport, given: String) -> String {
        var text = "\(given): "
        if report.evictedCount == 0 {
            text += "nothing freed" + (report.stayedCount == 0 ? ": nothing of it is downloaded" : "")
            if report.unsyncedCount > 0 { text = "\(given): nothing freed" }
        } else {
            let names = report.evicted.prefix(namedLimit)
            let more = report.evictedCount - names.count
            let list = (names + (more > 0 ? ["\(more) more"] : [])).joined(separator: ", ")
            text +=
                "freed \(ByteCount(report.freedByteCount)) in \(TotalsText.count(report.evictedCount, "file")): \(list)"
        }
        if report.unsyncedCount > 0 {
            text += "; \(TotalsText.count(report.unsyncedCount, "file")) not synced, and therefore kept"
        }
        return text.printable
    }

    /// What stayed, one line a file; `nil` when nothing did.
    static func failure(_ report: EvictionReport, path: (String) -> String) -> CommandFailure? {
        guard report.stayedCount > 0 || report.problem != nil else { return nil }
        let lines = report.stayed.map { "\(path($0.path)): \($0.reason)" }
        if let problem = report.problem { return CommandFailure(.unavailable, "stopped: \(problem)", log: lines) }
        if report.stayedCount == 1, let only = report.stayed.first { return CommandFailure(.busy, only.reason) }
        let more = report.stayedCount - lines.count
        return CommandFailure(
            .busy, "\(TotalsText.count(report.stayedCount, "file")) stayed",
            log: lines + (more > 0 ? ["and \(more) more"] : []))
    }
}

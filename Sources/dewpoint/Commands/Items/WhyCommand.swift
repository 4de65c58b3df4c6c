import ArgumentParser
import ControlAPI
import Model

struct WhyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Shows why items are local, who downloaded them, why they cannot be evicted, and what they wait for.")

    @Argument(help: "Items in mounted containers.", completion: .file())
    var paths: [String]

    @Flag(help: "Print a JSON array.")
    var json = false

    func validate() throws {
        if paths.isEmpty { throw ValidationError("give at least one path") }
    }

    func run() async throws {
        var found: [(given: String, reasons: ItemReasons)] = []
        var failure: (any Error)?
        do {
            try await CommandFailure.forEach(paths) { place in
                found.append((place.given, try await place.send(ReasonsRequest(path: place.path))))
            }
        } catch {
            failure = error
        }
        if json {
            try JSONOutput.print(found.map(\.reasons))
        } else if !found.isEmpty {
            print(found.map { Self.text($0.reasons, given: $0.given) }.joined(separator: "\n\n"))
        }
        if let failure { throw failure }
    }

    ///     Photos/a.jpg
    ///       local      yes: pinned
    ///       download   read by tumblerd(812), requested 2026-01-31 12:00:00, complete 2026-01-31 12:00:03
    ///       evictable  no: it is pinned; to undo that, run: dewpoint unpin
    ///       rules      evict_after=30d, set on Photos
    ///       held by    open for reading by vim(99)
    ///       waits for  nothing
    static func text(_ reasons: ItemReasons, given: String) -> String {
        var rows: [(String, String)] = []
        if reasons.kind == .file {
            rows = rowsOfBytes(reasons)
        } else {
            let more = reasons.kind == .directory ? "; for what is in it, see: dewpoint status" : ""
            rows.append(("local", "yes: a \(reasons.kind.rawValue) has no bytes of its own\(more)"))
        }
        if let rules = reasons.rules, !rules.isEmpty { rows += several("rules", rules.map(text), or: "") }
        rows += several("held by", reasons.heldBy, or: "nobody") + several("waits for", reasons.waitsFor, or: "nothing")
        return ([given.printable] + TotalsText.lines(rows)).joined(separator: "\n")
    }

    private static func text(_ rule: AppliedRule) -> String {
        let value = "\(rule.rule.rawValue)=\(rule.value)"
        let directory = rule.directory.isEmpty ? "the whole container" : rule.directory.printable
        return switch rule.source {
        case "attribute": "\(value), set on \(directory)"
        case "path": "\(value), for \(directory) by the mount's rules"
        default: "\(value), a mount option"
        }
    }

    private static func rowsOfBytes(_ reasons: ItemReasons) -> [(String, String)] {
        var rows =
            reasons.isLocal
            ? several("local", reasons.localBecause.map { "yes: \($0)" }, or: "yes")
            : [("local", "no: its bytes are in the container only, and come when they are read")]
        if let download = reasons.download {
            let end = download.arrived.map { "complete \(LocalTime.text($0))" } ?? "not complete"
            rows.append(("download", "\(download.cause), requested \(LocalTime.text(download.requested)), \(end)"))
        }
        guard reasons.isLocal else { return rows }
        return rows + several("evictable", reasons.staysBecause.map { "no: \($0)" }, or: "yes: nothing keeps it")
    }

    private static func several(_ name: String, _ values: [String], or none: String) -> [(String, String)] {
        values.isEmpty ? [(name, none)] : values.enumerated().map { ($0 == 0 ? name : "", $1) }
    }
}

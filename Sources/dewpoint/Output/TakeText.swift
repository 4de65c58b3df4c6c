import Model
import Replica
import Transfer

/// What `dewpoint take` says.
struct TakeText {
    let path: String
    let url: String
    let survey: TreeSurvey
    let access: AccessSurvey

    /// How many paths are printed.
    private static let namedLimit = 20
    /// In bits per second: uplinks that people have.
    private static let uplinks: [(name: String, bitsPerSecond: Int64)] = [
        ("10 Mbit/s", 10_000_000), ("100 Mbit/s", 100_000_000), ("1 Gbit/s", 1_000_000_000),
    ]

    private var size: String {
        "\(TransferText.count(survey.itemCount, "item")), of them \(TransferText.count(survey.fileCount, "file")) with "
            + "\(ByteCount(survey.byteCount))"
    }

    func plan(state: String) -> String {
        var lines = [
            "\(path) has \(size)",
            "they would become those of the mount by renaming, into \(state)/files: nothing is copied",
            "the upload to \(url) takes "
                + Self.uplinks.map { "\(Self.duration(survey.byteCount * 8 / $0.bitsPerSecond)) at \($0.name)" }
                .joined(separator: ", "),
        ]
        lines += losses
        return lines.map(\.printable).joined(separator: "\n")
    }

    var outcome: String {
        let lines = [
            "\(path) is the mount of \(url) now, with \(size); they are being uploaded",
            "how far that is: dewpoint status \(path)",
            "back to a plain directory: dewpoint take --undo \(path)",
        ]
        return lines.map(\.printable).joined(separator: "\n")
    }

    func sayLosses() { for line in losses { CommandFailure.say(line) } }

    private var losses: [String] { unsynced + unkept }

    private var unkept: [String] {
        guard access.count > 0 else { return [] }
        var lines = [
            "\(TransferText.count(access.count, "item")) \(access.count == 1 ? "has" : "have") what a mount has not, and what it gives "
                + "to others than owner and group is not given there:"
        ]
        lines += access.findings.prefix(Self.namedLimit).map { "  \($0.path): \($0.reason)" }
        let more = access.count - Self.namedLimit
        if more > 0 { lines.append("  and \(more) more") }
        return lines
    }

    private var unsynced: [String] {
        guard survey.unsyncedCount > 0 else { return [] }
        var lines = [
            "\(TransferText.count(survey.unsyncedCount, "item")) stay\(survey.unsyncedCount == 1 ? "s" : "") on this device, and "
                + "\(survey.unsyncedCount == 1 ? "is" : "are") not uploaded:"
        ]
        lines += survey.unsynced.prefix(Self.namedLimit).map { "  \($0.path): \($0.reason)" }
        let more = survey.unsyncedCount - Self.namedLimit
        if more > 0 { lines.append("  and \(more) more") }
        return lines
    }

    private static func duration(_ seconds: Int64) -> String { LocalTime.text(seconds: Double(seconds)) }

    /// A place for a state beside a directory.
    static func neighbour(of path: String) -> String {
        let components = ItemPath(path).components
        let name = components.last.map { String($0) } ?? "state"
        let parent = components.dropLast().map { "/\($0)" }.joined()
        return "\(parent)/.\(name).dewpoint"
    }
}

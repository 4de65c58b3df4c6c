import Model
import Replica
import Transfer

/// What `dewpoint take` says.
struct TakeText {
    let path: String
    let url: String
    let survey: TreeSurvey

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
        let count = survey.access.count
        return list(
            survey.access,
            "\(TransferText.count(count, "item")) \(count == 1 ? "has" : "have") what a mount has not, and what it gives "
                + "to others than owner and group is not given there:")
    }

    private var unsynced: [String] {
        let count = survey.unsynced.count
        return list(
            survey.unsynced,
            "\(TransferText.count(count, "item")) stay\(count == 1 ? "s" : "") on this device, and "
                + "\(count == 1 ? "is" : "are") not uploaded:")
    }

    private func list(_ findings: SurveyFindings, _ heading: String) -> [String] {
        guard findings.count > 0 else { return [] }
        let more = findings.count - Self.namedLimit
        return [heading] + findings.first.prefix(Self.namedLimit).map { "  \($0.path): \($0.reason)" }
            + (more > 0 ? ["  and \(more) more"] : [])
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

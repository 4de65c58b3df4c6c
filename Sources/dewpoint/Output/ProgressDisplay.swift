import Foundation
import Model

/// The progress of a download: a bar on a terminal, an occasional line elsewhere.
///
///     Photos  [###########···················]  37%  3.5 MiB of 9.5 MiB  1.2 MiB/s
struct ProgressDisplay {
    private let name: String
    private let isTerminal: Bool
    private let output: FileHandle
    private let start = ContinuousClock.now
    private var first: DownloadProgress?
    private var last: DownloadProgress?

    private static let barWidth = 30
    private static let terminalInterval = Duration.milliseconds(200)
    private static let lineInterval = Duration.seconds(1)

    init(name: String, isTerminal: Bool, output: FileHandle = .standardOutput) {
        self.name = name.printable
        self.output = output
        self.isTerminal = isTerminal
    }

    /// How long to wait between two updates.
    var interval: Duration { isTerminal ? Self.terminalInterval : Self.lineInterval }

    mutating func show(_ progress: DownloadProgress) {
        if first == nil { first = progress }
        guard isTerminal || progress != last else { return }
        last = progress
        write(progress, ending: isTerminal ? "" : "\n")
    }

    mutating func finish(_ progress: DownloadProgress) {
        if first == nil { first = progress }
        guard isTerminal || progress != last else { return }
        write(progress, ending: "\n")
    }

    private func write(_ progress: DownloadProgress, ending: String) {
        let line = "\(name)  \(self.text(progress))"
        // Back to the start of the line, and clear the rest of a longer line.
        let text = isTerminal ? "\r\(line)\u{1b}[K\(ending)" : "\(line)\(ending)"
        // Losing progress on a closed pipe or a full disk does no harm.
        try? output.write(contentsOf: Data(text.utf8))
    }

    private func text(_ progress: DownloadProgress) -> String {
        let part = progress.bytesTotal > 0 ? Double(progress.bytesDone) / Double(progress.bytesTotal) : 1
        // 100 is shown only for complete items.
        let isWhole = progress.filesDone == progress.filesTotal
        let percent = isWhole ? 100 : min(99, Int(part * 100))
        let filled = Int(part * Double(Self.barWidth))
        let bar =
            "[\(String(repeating: "#", count: filled))\(String(repeating: "·", count: max(0, Self.barWidth - filled)))]  "
        var fields = [
            "\(isTerminal ? bar : "")\("\(percent)%".leadingPadding(to: 4))",
            "\(ByteCount(progress.bytesDone)) of \(ByteCount(progress.bytesTotal))",
        ]
        if progress.filesTotal > 1 { fields.append("\(progress.filesDone) of \(progress.filesTotal) files") }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let brought = progress.bytesDone - (first?.bytesDone ?? 0)
        if seconds > 0.1, brought > 0 { fields.append("\(ByteCount(Double(brought) / seconds))/s") }
        return fields.joined(separator: "  ")
    }
}

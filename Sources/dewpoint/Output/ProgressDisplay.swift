import Foundation
import Glibc
import Model

/// The progress of transfers, as one line on a terminal that is written again and again; nothing elsewhere.
///
///     Photos  [###########···················]  37%  3.5 MiB of 9.5 MiB  2 of 5 files  1.2 MiB/s  5 s left
///
/// On a narrow terminal the bar gets shorter, then fields at the end are left out.
struct ProgressDisplay {
    private let name: String
    private let noun: String
    private let output: FileHandle
    /// `nil`: not a terminal.
    private let width: @Sendable () -> Int?
    private let start = ContinuousClock.now
    private var first: DownloadProgress?

    private static let barWidth = 30
    private static let shortestBar = 10
    private static let longestName = 30
    /// How often the line is written.
    static let interval = Duration.milliseconds(200)

    /// - Parameters:
    ///   - noun: What is counted besides bytes: `file`, `change`.
    ///   - width: The columns of the terminal, which may change; `nil` when there is none.
    init(
        name: String, noun: String, output: FileHandle = .standardError,
        width: @escaping @Sendable () -> Int? = { Terminal.width(STDERR_FILENO) }
    ) {
        self.name = name.printable
        self.noun = noun
        self.output = output
        self.width = width
    }

    /// Runs `work`, and shows its progress until it ends.
    ///
    /// - Parameter progress: Asked every ``interval``, on a terminal only.
    static func during<Value: Sendable>(
        _ name: String, noun: String, _ work: @escaping @Sendable () async throws -> Value,
        progress: @escaping @Sendable () async throws -> DownloadProgress
    ) async throws -> Value {
        guard Terminal.width(STDERR_FILENO) != nil else { return try await work() }
        return try await withThrowingTaskGroup(of: Step<Value>.self) { group in
            var display = ProgressDisplay(name: name, noun: noun)
            group.addTask { .done(try await work()) }
            group.addTask { .progress(try await progress()) }
            do {
                while let step = try await group.next() {
                    if case .done(let value) = step {
                        display.show(try await progress(), isLast: true)
                        group.cancelAll()
                        return value
                    }
                    if case .progress(let now) = step { display.show(now) }
                    group.addTask {
                        try await Task.sleep(for: interval)
                        return .progress(try await progress())
                    }
                }
            } catch {
                // A new line, so that the message does not follow the bar.
                if display.first != nil { display.write("\n") }
                throw error
            }
            throw CancellationError()
        }
    }

    private enum Step<Value: Sendable>: Sendable {
        case done(Value)
        case progress(DownloadProgress)
    }

    mutating func show(_ progress: DownloadProgress, isLast: Bool = false) {
        guard let width = width() else { return }
        if first == nil { first = progress }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let brought = progress.bytesDone - (first?.bytesDone ?? 0)
        let speed = seconds > 0.1 && brought > 0 ? Double(brought) / seconds : nil
        // Back to the start of the line, and clear the rest of a longer line.
        write("\r\(line(progress, speed: speed, width: width))\u{1b}[K\(isLast ? "\n" : "")")
    }

    private func write(_ text: String) {
        // Losing progress on a closed terminal does no harm.
        try? output.write(contentsOf: Data(text.utf8))
    }

    /// - Parameter speed: Bytes per second; `nil` when unknown.
    func line(_ progress: DownloadProgress, speed: Double?, width: Int) -> String {
        // 100 is shown only for what is complete.
        let isWhole = progress.filesDone == progress.filesTotal
        // Empty files count by their number.
        let part =
            progress.bytesTotal > 0
            ? Double(progress.bytesDone) / Double(progress.bytesTotal)
            : Double(progress.filesDone) / Double(max(progress.filesTotal, 1))
        let share = isWhole ? 1 : min(max(part, 0), 0.99)
        var fields = fields(progress, speed: speed)
        let name = name.shortened(to: min(Self.longestName, width / 3))
        let percent = "\(Int(share * 100))%".leadingPadding(to: 4)
        // The last column stays free: some terminals wrap when it is written.
        func room() -> Int {
            width - 1 - name.count - percent.count - 6 - fields.reduce(0) { $0 + $1.count + 2 }
        }
        while room() < Self.shortestBar, !fields.isEmpty { fields.removeLast() }
        let length = min(room(), Self.barWidth)
        guard length >= 1 else { return "\(name)  \(percent)" }
        let filled = Int(share * Double(length))
        let bar = String(repeating: "#", count: filled) + String(repeating: "·", count: length - filled)
        return ([name, "[\(bar)]", percent] + fields).joined(separator: "  ")
    }

    private func fields(_ progress: DownloadProgress, speed: Double?) -> [String] {
        var fields = ["\(ByteCount(progress.bytesDone)) of \(ByteCount(progress.bytesTotal))"]
        if progress.filesTotal > 1 { fields.append("\(progress.filesDone) of \(progress.filesTotal) \(noun)s") }
        guard let speed, speed >= 1 else { return fields }
        fields.append("\(ByteCount(speed))/s")
        let rest = progress.bytesTotal - progress.bytesDone
        if rest > 0 { fields.append("\(LocalTime.text(seconds: Double(rest) / speed)) left") }
        return fields
    }
}

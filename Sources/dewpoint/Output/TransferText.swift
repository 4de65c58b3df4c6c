import Foundation
import Model

/// The output of an export, an import or an adoption.
enum TransferText {
    /// `exported: 12 files with 3.5 MiB, 4 directories, 1 link`
    static func text(_ report: TransferReport, verb: String) -> String {
        var parts = [
            "\(count(report.fileCount, "file")) with \(ByteCount(report.byteCount))",
            count(report.directoryCount, "directory", "directories"),
        ]
        if report.linkCount > 0 { parts.append(count(report.linkCount, "link")) }
        if report.conflictCount > 0 { parts.append(count(report.conflictCount, "conflict version")) }
        if report.replacedCount > 0 { parts.append("\(report.replacedCount) replaced") }
        if report.presentCount > 0 { parts.append("\(report.presentCount) already present") }
        if report.goneCount > 0 { parts.append("\(report.goneCount) gone from the remote") }
        if report.skippedCount > 0 { parts.append("\(report.skippedCount) skipped") }
        if report.failedCount > 0 { parts.append("\(report.failedCount) failed") }
        return "\(verb): \(parts.joined(separator: ", "))"
    }

    static func count(_ count: Int, _ noun: String, _ plural: String? = nil) -> String {
        "\(count) \(count == 1 ? noun : plural ?? "\(noun)s")"
    }

    /// Reports on standard error what is left out.
    static func report(_ problem: TransferProblem) {
        let word =
            switch problem.kind {
            case .skipped: "skipped: "
            case .failed: ""
            case .note: "note: "
            }
        let place = problem.path.isEmpty ? "" : "\(problem.path): "
        CommandFailure.say("\(word)\(place)\(problem.reason)")
    }

    /// The same beside a ``ProgressDisplay``, whose line is written again afterwards.
    static func reportBesideProgress(_ problem: TransferProblem) {
        if Terminal.width(STDERR_FILENO) != nil {
            // Losing it on a closed terminal does no harm.
            try? FileHandle.standardError.write(contentsOf: Data("\r\u{1b}[K".utf8))
        }
        report(problem)
    }

    /// Each level of a tree keeps a descriptor open.
    static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        // On failure, very deep trees fail with an error of their own.
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

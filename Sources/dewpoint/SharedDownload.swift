import Foundation
import Glibc
import Linux
import Model
import Remote
import RemoteS3
import Sealing
import Synchronization

/// A shared file of an encrypted container on its way to where a user wants it.
struct SharedDownload: Sendable {
    private let link: ShareLink
    private let target: String
    private let progress = Progress()

    private final class Progress: Sendable {
        let counts = Mutex((done: Int64(0), total: Int64(0)))
    }

    /// - Parameter output: The new file, or an existing directory; `nil` for the current one.
    /// - Throws: ``CommandFailure`` with `usage` for a name in the link that is not used, with `cannotCreate` when the
    ///   file exists.
    init(_ link: ShareLink, to output: String?) throws(CommandFailure) {
        self.link = link
        target = try Self.target(output, named: link.fileName)
        guard access(target, F_OK) != 0 else { throw Self.exists(target) }
    }

    /// - Throws: ``CommandFailure`` with `usage`.
    static func parse(_ text: String) throws(CommandFailure) -> ShareLink {
        let link: ShareLink
        do throws(ShareLink.Fault) { link = try ShareLink(parsing: text) } catch {
            let sentence =
                switch error {
                case .noFragment:
                    "the part of the link from # on is missing, without which nobody can read the file: ask for the whole "
                        + "link, and give it in quotes"
                case .plain:
                    "this is no link to a file of an encrypted container; what is not encrypted is saved by any browser"
                case .otherVersion: "this link was made by another version of Dewpoint: update this one"
                case .damaged: "a part of the link is missing: give all of it in quotes, with everything behind the #"
                }
            throw CommandFailure(.usage, sentence)
        }
        if let fault = LinkReader.fault(of: link.bytesURL) {
            throw CommandFailure(.usage, "the link leads nowhere: \(fault)")
        }
        return link
    }

    static func target(_ output: String?, named name: String) throws(CommandFailure) -> String {
        var isDirectory: ObjCBool = true
        if let output,
            !FileManager.default.fileExists(atPath: output, isDirectory: &isDirectory) || !isDirectory.boolValue
        {
            return output
        }
        guard (try? ItemName(name)) != nil, isHarmless(name) else {
            throw CommandFailure(
                .usage, "the name in the link is not used, since it may mislead; name the file with --output FILE")
        }
        return output.map { $0.hasBytePrefix("/") && $0.utf8.count == 1 ? "/\(name)" : "\($0)/\(name)" } ?? name
    }

    /// Whoever made the link chose the name: it must not be hidden, and be shown as what it is.
    private static func isHarmless(_ name: String) -> Bool {
        !name.hasBytePrefix(".") && name.printable.isBytewiseEqual(to: name)
    }

    private static func exists(_ target: String) -> CommandFailure {
        CommandFailure(.cannotCreate, "\(target) exists; save it elsewhere with --output")
    }

    func run() async throws {
        let part = PartFile(of: target)
        defer { part.remove() }
        let name = ItemPath(target).last.map(String.init) ?? target
        try await ProgressDisplay.during(name, noun: "file") {
            do throws(StoreError) { try await fetch(into: part.path) } catch { throw Self.failure(error) }
        } progress: {
            let (done, total) = progress.counts.withLock { $0 }
            return DownloadProgress(
                bytesDone: done, bytesTotal: total, filesDone: done == total ? 1 : 0, filesTotal: 1)
        }
        guard try part.move(replacing: false) else { throw Self.exists(target) }
    }

    private func fetch(into path: String) async throws(StoreError) {
        let reader = LinkReader(variables: ProcessInfo.processInfo.environment)
        let shared = try await SharedFileReader(try await reader.get(link.bytesURL, key: "the file"), key: link.key)
        progress.counts.withLock { $0.total = shared.byteCount }
        let file = try Self.local { () throws(FileError) in
            try Descriptor(path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        }
        while let piece = try await shared.bytes.next() {
            try Self.local { () throws(FileError) in
                try piece.withBytes { bytes throws(FileError) in try file.append(bytes) }
            }
            progress.counts.withLock { $0.done += Int64(piece.count) }
        }
    }

    /// Runs what fails only because of this machine.
    private static func local<Value>(_ work: () throws(FileError) -> Value) throws(StoreError) -> Value {
        do throws(FileError) { return try work() } catch {
            throw StoreError(
                error.code == .diskFull ? .full : .denied, key: "the file", "cannot be saved: \(error.detail)")
        }
    }

    private static func failure(_ error: StoreError) -> CommandFailure {
        let status: ExitStatus =
            switch error.code {
            case .notFound: .notFound
            case .unavailable, .throttled: .unavailable
            case .full, .denied, .preconditionFailed: .cannotCreate
            case .corrupt, .invalid, .cancelled: .failed
            }
        guard error.code != .corrupt else {
            return CommandFailure(
                status,
                "what the server has is damaged or incomplete, or the key in the link is of another file; nothing was saved"
            )
        }
        return CommandFailure(status, error.detail.isEmpty ? "the download was interrupted" : error.detail)
    }
}

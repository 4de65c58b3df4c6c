import ControlClient
import Daemon
import Foundation
import Model

/// Why a command failed, as reported to the user: one sentence and an exit status.
struct CommandFailure: Error {
    let status: ExitStatus
    let sentence: String
    /// Lines with more details: of a log, or the wrong argument with a mark below it.
    private(set) var log: [String]

    init(_ status: ExitStatus, _ sentence: String, log: [String] = []) {
        self.status = status
        self.sentence = sentence
        self.log = log
    }

    /// - Returns: `nil` for errors of the argument parser, which it reports itself.
    init?(_ error: any Error) {
        switch error {
        case let error as CommandFailure: self = error
        case let error as DaemonError: self.init(ExitStatus(error.kind), error.description)
        case let error as DaemonLauncher.Failure:
            self.init(error.exitStatus.flatMap(ExitStatus.init) ?? .failed, error.sentence)
            log = error.log
        case let error as FileError: self.init(ExitStatus(error.code), error.detail)
        case ControlError.refused(let error) where error.code == .notFound:
            self.init(.notFound, "no such item")
        case ControlError.refused(let error): self.init(ExitStatus(error.code), error.detail)
        case let error as ControlError:
            if case .daemonUnreachable = error {
                self.init(.unavailable, "\(error); is it running? see: dewpoint status")
            } else {
                self.init(.failed, error.description)
            }
        default: return nil
        }
    }

    func report() {
        Self.say(sentence)
        for line in log { Self.write("\(line.printable)\n") }
    }

    /// Prints a message on standard error.
    static func say(_ sentence: String) {
        write("dewpoint: \(sentence.printable)\n")
    }

    private static func write(_ text: String) {
        // With standard error closed or on a full disk, the message is lost; the exit status still tells.
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}

extension CommandFailure {
    /// Refuses a path that is given twice, in whatever spelling: the second would find the first one's work done.
    static func refuseRepetition(_ paths: [String]) throws(CommandFailure) {
        var seen: [ItemPath: String] = [:]
        for path in paths {
            // What is wrong with a path is reported when it is used.
            let place = (try? MountedPath.absolute(path)) ?? path
            if let first = seen.updateValue(path, forKey: ItemPath(place)) {
                let other = first.isBytewiseEqual(to: path) ? "" : ", also as \(first)"
                throw CommandFailure(.usage, "\(path) is given twice\(other); give each path once")
            }
        }
    }

    /// Runs `body` for each path: a failure of one does not stop the others.
    ///
    /// - Throws: The last failure; those before it are reported.
    static func forEach(_ paths: [String], _ body: (MountedPath) async throws -> Void) async throws {
        try refuseRepetition(paths)
        var last: CommandFailure?
        for path in paths {
            do {
                try await body(try MountedPath(path))
            } catch {
                guard let failure = CommandFailure(error) else { throw error }
                last?.report()
                let sentence =
                    failure.sentence.hasBytePrefix("\(path) ") ? failure.sentence : "\(path): \(failure.sentence)"
                last = CommandFailure(failure.status, sentence, log: failure.log)
            }
        }
        if let last { throw last }
    }
}

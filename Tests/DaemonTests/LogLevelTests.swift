import CDispatch
import Control
import ControlAPI
import Foundation
import Glibc
import Logging
import Testing

@testable import Daemon

@Suite struct LogLevelTests {
    @Test(arguments: [
        ("0", Logger.Level.critical), ("2", .critical), ("3", .error), ("4", .warning), ("5", .notice), ("6", .info),
        ("7", .debug), ("trace", .trace), ("Warning", .warning),
    ])
    func `levels have names and the numbers of syslog`(text: String, level: Logger.Level) {
        #expect(Logger.Level(nameOrNumber: text) == level)
        #expect(LogLevelRequest.isLevel(text))
    }

    @Test(arguments: ["", "8", "-1", "07", "verbose", "de bug"]) func `anything else is none`(text: String) {
        #expect(Logger.Level(nameOrNumber: text) == nil)
        #expect(!LogLevelRequest.isLevel(text))
    }

    @Test func `the command line and the log have the same levels`() {
        #expect(LogLevelRequest.names == Logger.Level.allCases.map(\.rawValue))
    }

    @Test func `a change applies to the loggers that there are`() {
        let level = LogLevel(.info)
        let logger = Logger(label: "test") { PrintableLog(label: $0, level: level) }
        var own = logger
        own.logLevel = .error
        level.level = .debug
        #expect(logger.logLevel == .debug)
        #expect(own.logLevel == .error)
    }

    @Test func `a line for the journal begins with its priority, and has no time`() {
        var event = LogEvent(
            level: .warning, message: "the store is full", metadata: ["b": "2", "a": "1"], source: "Sync", file: "",
            function: "", line: 0)
        #expect(
            JournalLine.text(event, label: "sync", metadata: ["c": "3"]) == "<4>sync: the store is full a=1 b=2 c=3")
        event.level = .trace
        event.metadata = nil
        #expect(JournalLine.text(event, label: "sync", metadata: [:]) == "<7>sync: the store is full")
    }

    @Test func `the journal is used only if standard error goes there`() throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        var status = stat()
        #expect(fstat(ends[1], &status) == 0)
        #expect(JournalLine.leads(to: "\(status.st_dev):\(status.st_ino)", ends[1]))
        #expect(!JournalLine.leads(to: "\(status.st_dev):\(status.st_ino &+ 1)", ends[1]))
        #expect(!JournalLine.leads(to: nil, ends[1]))
    }
}

import Coordination
import Foundation
import Model
import Programs
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

/// Which processes may download by reading, each checked right after a different answer.
@Suite struct DownloadRulesTests {
    /// Runs `sleep` under another name in two child processes.
    private func withTwo(named name: String, _ body: (Int32, Int32) throws -> Void) throws {
        let place = FileManager.default.temporaryDirectory.appending(path: "dewpoint-\(UUID())")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: place) }
        let program = place.appending(path: name)
        // A copy could not be run while another test starts a program: its child has the copy open until the exec.
        try FileManager.default.createSymbolicLink(at: program, withDestinationURL: URL(filePath: "/bin/sleep"))
        var sleeps: [Program] = []
        defer { for sleep in sleeps { sleep.end() } }
        for _ in 0..<2 {
            let sleep = try Program([program.path, "60"])
            sleeps.append(sleep)
            // Before its exec, the child has the name of this process.
            while ProcessTable.command(of: sleep.process) != name { usleep(1000) }
        }
        try body(sleeps[0].process, sleeps[1].process)
    }

    private func expect(
        _ process: Int32, isAdmitted: Bool, by rules: DownloadRules, at location: SourceLocation = #_sourceLocation
    ) throws {
        let inode = OpenInode(
            number: InodeNumber(rawValue: 2), descriptor: nil, access: .direct,
            opener: Caller(thread: 1, user: 0, group: 0))
        let handle = OpenHandle(
            id: HandleID(rawValue: 1), inode: inode, flags: 0, opener: inode.opener, slot: nil, of: nil)
        let answer = Result { () throws(FileError) in
            try rules.admit(process, thread: process, readingTo: 4096, to: handle)
        }
        switch answer {
        case .success: #expect(isAdmitted, sourceLocation: location)
        case .failure(let error): #expect(!isAdmitted && error.code == .downloadRefused, sourceLocation: location)
        }
    }

    @Test func `an excluded process and its descendants are refused at once, other processes are not`() throws {
        try withTwo(named: "reader") { one, other in
            let rules = DownloadRules(programs: ["never"])
            try expect(one, isAdmitted: true, by: rules)
            rules.withhold(from: ProcessID(one))
            try expect(one, isAdmitted: false, by: rules)
            try expect(other, isAdmitted: true, by: rules)
            // The parent of both.
            rules.withhold(from: ProcessID(getpid()))
            try expect(other, isAdmitted: false, by: rules)
            rules.restore(ProcessID(getpid()))
            try expect(other, isAdmitted: true, by: rules)
            try expect(one, isAdmitted: false, by: rules)
        }
    }

    @Test func `an excluded program is refused even if a sibling process is admitted`() throws {
        let rules = DownloadRules(programs: ["thumbs"])
        try withTwo(named: "reader") { reader, _ in
            try withTwo(named: "thumbs") { thumbs, other in
                try expect(reader, isAdmitted: true, by: rules)
                try expect(thumbs, isAdmitted: false, by: rules)
                try expect(reader, isAdmitted: true, by: rules)
                try expect(other, isAdmitted: false, by: rules)
            }
        }
    }

    @Test func `an excluded program is refused when it opens a file, an excluded process when it reads`() throws {
        let rules = DownloadRules(programs: ["thumbs"])
        try withTwo(named: "reader") { reader, _ in
            try rules.admitOpening(thread: reader)
            rules.withhold(from: ProcessID(reader))
            try rules.admitOpening(thread: reader)
            try expect(reader, isAdmitted: false, by: rules)
        }
        try withTwo(named: "thumbs") { thumbs, _ in
            let error = #expect(throws: FileError.self) { try rules.admitOpening(thread: thumbs) }
            #expect(error?.code == .downloadRefused)
        }
    }
}

import Coordination
import Foundation
import Programs
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

@Suite struct ProcessTableTests {
    /// Runs a program under a name that looks like the text around it in `/proc`.
    private func withProcess(named name: String, _ body: (Int32) throws -> Void) throws {
        let place = FileManager.default.temporaryDirectory.appending(path: "dewpoint-\(UUID())")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: place) }
        let program = place.appending(path: name)
        // A copy could not be run while another test starts a program: its child has the copy open until the exec.
        try FileManager.default.createSymbolicLink(at: program, withDestinationURL: URL(filePath: "/bin/sleep"))
        let sleep = try Program([program.path, "60"])
        defer { sleep.end() }
        // Before its exec, the child has the name of this process.
        while ProcessTable.command(of: sleep.process) != name { usleep(1000) }
        try body(sleep.process)
    }

    @Test(arguments: ["plain", "a ) R 1 1 (b", "sp ace", "näme"])
    func `a process, its parent and its group are found whatever the name of the process`(name: String) throws {
        try withProcess(named: name) { process in
            let ancestry = ProcessTable.ancestry(of: ProcessID(process))
            #expect(ancestry.prefix(2).map(\.process) == [ProcessID(process), ProcessID(getpid())])
            #expect(ancestry.first?.command == name)
            #expect(ProcessTable.group(of: process) == getpgid(process))
            #expect(ProcessTable.process(ofThread: process) == process)
            #expect(!ProcessTable.isStopped(process))
            kill(process, SIGSTOP)
            while !ProcessTable.isStopped(process) { usleep(1000) }
        }
    }

    @Test func `a process that has ended is known only by its number`() {
        let gone: Int32 = 1 << 30
        #expect(ProcessTable.ancestry(of: ProcessID(gone)).map(\.command) == [""])
        #expect(ProcessTable.group(of: gone) == nil)
        #expect(ProcessTable.process(ofThread: gone) == gone)
    }
}

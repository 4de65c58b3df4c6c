import Foundation
import Model
import Testing

@testable import Replica

@Suite(.timeLimit(.minutes(5))) struct RedoLogTests {
    private func names(_ lab: Lab) throws -> [String] {
        try lab.replica.look { try $0.children(of: .root, after: nil, limit: 99) }.map(\.name.string)
    }

    private static let problem = """
        a change that was being made when the daemon ended, or was damaged since, cannot be made, nor those after it: \
        record 2 of the redo log is not whole
        """

    @Test func `a change whose record was not written to its end is not made`() throws {
        let lab = try Lab()
        _ = try lab.makeDirectory("a")
        let end = try lab.redoEnd()
        _ = try lab.makeDirectory("b")
        try lab.writeRedo(Data(repeating: 0, count: 8), at: try lab.redoEnd(after: end) - 8)
        try lab.killAndOpen()
        #expect(try names(lab) == ["a"])
        #expect(lab.replica.repairReport.lines.last == Self.problem)
        #expect(try lab.replica.check() == [])
    }

    @Test func `of a damaged log the changes before the damage are made, and the mount is not refused`() throws {
        let lab = try Lab()
        _ = try lab.makeDirectory("a")
        let start = try lab.redoEnd()
        _ = try lab.makeDirectory("b")
        let end = try lab.redoEnd(after: start)
        _ = try lab.makeDirectory("c")
        lab.replica.abandon()
        let saved = try lab.copyOfState()
        defer { try? FileManager.default.removeItem(atPath: saved) }
        let log = try Data(contentsOf: URL(filePath: "\(lab.path)/redo"))
        // The number of the record itself is not among them: with another one there is no record.
        for offset in stride(from: start + 8, to: end, by: 7) {
            try lab.replace(with: saved)
            let byte = log[Int(offset)]
            try lab.writeRedo(Data([byte ^ UInt8(1 << (offset % 8))]), at: offset)
            try lab.open()
            #expect(try names(lab) == ["a"], "\(offset)")
            #expect(lab.replica.repairReport.lines.contains(Self.problem), "\(offset)")
            #expect(try lab.replica.check() == [])
            lab.replica.abandon()
        }
        try lab.replace(with: saved)
        try lab.open()
        #expect(try names(lab) == ["a", "b", "c"])
    }

    @Test func `what was done is made when the state is mounted elsewhere, or after the machine has started again`()
        throws
    {
        let lab = try Lab()
        _ = try lab.makeDirectory("a")
        try lab.rename("a", to: "b")
        lab.replica.abandon()
        let marker = "another-boot/7 1\n"
        try marker.write(toFile: "\(lab.path)/running", atomically: false, encoding: .utf8)
        try lab.writeRedo(Data(marker.utf8) + Data(count: 512 - marker.utf8.count), at: 0)
        try lab.open()
        #expect(lab.replica.repairReport.followsPowerFailure)
        #expect(try names(lab) == ["b"])
        #expect(try lab.replica.check() == [])
    }

    @Test func `a log of another daemon is not used`() throws {
        let lab = try Lab()
        _ = try lab.makeDirectory("a")
        lab.replica.abandon()
        try "another-boot 1\n".write(toFile: "\(lab.path)/running", atomically: false, encoding: .utf8)
        try lab.open()
        #expect(try lab.replica.check() == [])
        _ = try lab.makeDirectory("b")
        try lab.killAndOpen()
        #expect(try names(lab).contains("b"))
        #expect(try lab.replica.check() == [])
    }

    @Test func `what stands in the place of the log is named, with what to do`() throws {
        let lab = try Lab()
        _ = try lab.makeDirectory("a")
        lab.replica.abandon()
        let redo = "\(lab.path)/redo"
        try FileManager.default.removeItem(atPath: redo)
        try FileManager.default.createDirectory(atPath: redo, withIntermediateDirectories: false)
        #expect(throws: FileError(.inputOutput, "\(redo) is not a file; move it away to mount without it")) {
            try lab.open()
        }
        try FileManager.default.removeItem(atPath: redo)
        try FileManager.default.createSymbolicLink(atPath: redo, withDestinationPath: "/dev/null")
        let error = #expect(throws: FileError.self) { try lab.open() }
        #expect(error?.detail == "\(redo) cannot be read; move it away to mount without it")
        try FileManager.default.removeItem(atPath: redo)
        try lab.open()
        #expect(try lab.replica.check() == [])
    }
}

extension Lab {
    /// Where the record in the redo log ends that begins at an offset, or the first.
    fileprivate func redoEnd(after offset: Int64 = RedoLog.headerByteCount) throws -> Int64 {
        let log = try Data(contentsOf: URL(filePath: "\(path)/redo"))
        let length = log.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: Int(offset) + 8, as: Int64.self) }
        return offset + 16 + length + 8
    }

    fileprivate func writeRedo(_ bytes: Data, at offset: Int64) throws {
        let log = try FileHandle(forUpdating: URL(filePath: "\(path)/redo"))
        try log.seek(toOffset: UInt64(offset))
        try log.write(contentsOf: bytes)
        try log.close()
    }

    /// Of the files that a start changes; the directories stay.
    private static let files = ["index.sqlite", "index.sqlite-wal", "redo", "running"]

    fileprivate func copyOfState() throws -> String {
        let copy = "\(path)-copy"
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
        try copyFiles(from: path, to: copy)
        return copy
    }

    fileprivate func replace(with copy: String) throws {
        for name in Self.files { try? FileManager.default.removeItem(atPath: "\(path)/\(name)") }
        try copyFiles(from: copy, to: path)
    }

    private func copyFiles(from source: String, to target: String) throws {
        // The log of the index may have ended with its last connection.
        for name in Self.files where FileManager.default.fileExists(atPath: "\(source)/\(name)") {
            try FileManager.default.copyItem(atPath: "\(source)/\(name)", toPath: "\(target)/\(name)")
        }
    }
}

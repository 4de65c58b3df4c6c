import Foundation
import Model
import Testing

@testable import Replica

@Suite struct StagingSpareTests {
    @Test func `a download uses the file created in advance, and a leftover one is removed`() throws {
        let lab = try Lab()
        func staged() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: "\(lab.path)/staging/downloads")
        }
        let inode = try lab.insertRemote("r")
        try lab.replica.prepareDownload()
        try lab.replica.prepareDownload()
        #expect(try staged().count == 1)
        let spare = try staged()
        _ = try lab.replica.change { try $0.downloads.begin(of: inode) }
        #expect(try staged() == spare)
        try lab.replica.prepareDownload()
        #expect(try staged().count == 2)
        #expect(try lab.download(inode, bytes: "12345") == inode)
        #expect(try staged().count == 1)
        #expect(try lab.replica.check() == [])
        try lab.killAndOpen()
        #expect(try staged() == [])
        #expect(lab.replica.repairReport.lines == [])
        try lab.replica.prepareDownload()
        try lab.restart()
        #expect(try staged() == [])
    }

    @Test func `a download that cannot begin leaves no file behind`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("f", bytes: "hello")
        try lab.replica.prepareDownload()
        #expect(throws: FileError(.invalid, "#2 is local")) {
            try lab.replica.change { try $0.downloads.begin(of: inode) }
        }
        try lab.replica.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(lab.path)/staging/downloads") == [])
    }
}

import Foundation
import GRDB
import Glibc
import Linux
import Model
import Testing

@testable import Replica

/// Names of the backing directory's own form, in a tree that is taken over.
@Suite(.timeLimit(.minutes(5))) struct TakingNamesTests {
    private static func escape(_ name: String) throws -> String { PlaceholderName.backingName(of: try ItemName(name)) }

    /// - Parameter isLinked: Whether all names are those of one file.
    @Test(arguments: [false, true])
    func `names that are those of others on the disk are taken, and given back`(isLinked: Bool) throws {
        let lab = try Lab()
        let path = "\(lab.path)-taken"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try SystemCalls.makeDirectory(ifMissing: path)
        var names = [".a.icloud"]
        for _ in 0..<3 { names.append(try Self.escape(names[names.count - 1])) }
        for name in names {
            if isLinked, name != names[0] {
                #expect(link("\(path)/\(names[0])", "\(path)/\(name)") == 0)
            } else {
                let file = try Descriptor("\(path)/\(name)", O_WRONLY | O_CREAT, mode: 0o400)
                try file.write(Array(name.utf8), at: 0, as: "write")
            }
        }
        func expectBytes() throws {
            for name in names {
                let number = try lab.replica.look { try $0.lookup(try ItemName(name), in: .root).inode }
                let bytes = try lab.replica.openBytes(of: number).read(byteCount: 99, at: 0)
                let expected = isLinked ? names[0] : name
                #expect(String(decoding: bytes, as: UTF8.self) == expected)
            }
        }
        _ = try lab.replica.take(try Descriptor(path, O_RDONLY | O_DIRECTORY), at: path)
        try expectBytes()
        #expect(try lab.replica.check() == [])
        // As after an interruption at its very end.
        try AdoptionFinish.run(in: lab.replica)
        try expectBytes()
        try lab.restart()
        try expectBytes()

        try lab.replica.close()
        let files = try Descriptor("\(lab.path)/files", O_RDONLY | O_DIRECTORY)
        let (index, _) = try Replica.openIndex(ReplicaDirectory(lab.path), redoing: nil)
        for _ in 0..<2 {
            try index.read { database in
                var restoration = TreeRestoration(
                    Rows(database: database), making: try Descriptor(lab.path), device: try files.status().device)
                try restoration.restoreContents(of: .root, in: files, at: ItemPath(""))
                #expect(restoration.report.faultCount == 0)
            }
            #expect(try SystemCalls.names(in: files).sorted() == names.sorted())
        }
        try index.close()
        #expect(try TreeReturn(of: lab.path, to: path).run().faultCount == 0)
        for name in names {
            let text = try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8)
            #expect(text == (isLinked ? names[0] : name))
        }
    }
}

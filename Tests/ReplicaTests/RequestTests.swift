import Foundation
import Linux
import Model
import Testing

@testable import Replica

/// Requests that come again after the daemon was killed, and files that programs go on with.
@Suite(.timeLimit(.minutes(5))) struct RequestTests {
    private let request = RequestNumber(rawValue: 2048)

    private func made(_ lab: Lab, _ request: RequestNumber) throws -> InodeNumber? {
        try lab.replica.look { try $0.inode(madeBy: request) }
    }

    private func makeDirectory(_ name: String, _ request: RequestNumber?, in lab: Lab) throws -> InodeNumber {
        try lab.replica.change { transaction in
            let made = try transaction.make(NewItem(.directory, mode: 0o755), as: try ItemName(name), in: .root)
            try transaction.note(request, made: made.inode)
            return made.inode
        }
    }

    @Test func `a request that was carried out is known after kill -9, also with the mark of a repeated one`() throws {
        let lab = try Lab()
        let number = try makeDirectory("a", request, in: lab)
        try lab.killAndOpen()
        #expect(try made(lab, request) == number)
        #expect(try made(lab, RequestNumber(rawValue: 2048 | 1 << 63)) == number)
        #expect(try made(lab, RequestNumber(rawValue: 2050)) == nil)
        #expect(RequestNumber(rawValue: 2048 | 1 << 63).isRepeated && !request.isRepeated)
    }

    @Test func `at each step of a change, either it is done and its request known, or neither`() throws {
        var outcomes: Set<Bool> = []
        for step in 1...20 {
            let lab = try Lab()
            lab.crash.arm(step)
            _ = try? lab.replica.change { transaction in
                let made = try transaction.createFile(NewItem(.file, mode: 0o644), as: try ItemName("f"), in: .root)
                try transaction.note(request, made: made.attributes.inode)
            }
            let isCrashed = lab.crash.crashedAt != nil
            lab.isResumed = true
            try lab.killAndOpen()
            let number = try made(lab, request)
            let found = try? lab.replica.look { try $0.lookup(try ItemName("f"), in: .root).inode }
            #expect(found == number, "step \(step)")
            #expect(try lab.replica.check() == [])
            outcomes.insert(number != nil)
            if !isCrashed { break }
        }
        #expect(outcomes == [true, false])
    }

    @Test func `a symbolic link that was being made is made when its request comes again`() throws {
        var outcomes: Set<Bool> = []
        for step in 1...20 {
            let lab = try Lab()
            lab.crash.arm(step)
            let make: (ReplicaTransaction) throws -> Void = { transaction in
                let made = try transaction.make(.symbolicLink(to: "target"), as: try ItemName("l"), in: .root)
                try transaction.note(request, made: made.inode)
            }
            _ = try? lab.replica.change(make)
            let isCrashed = lab.crash.crashedAt != nil
            lab.isResumed = true
            try lab.killAndOpen()
            let isDone = try made(lab, request) != nil
            if !isDone { try lab.replica.change(make) }
            #expect(try lab.replica.check() == [], "step \(step)")
            outcomes.insert(isDone)
            if !isCrashed { break }
        }
        #expect(outcomes == [true, false])
    }

    @Test func `a request that failed is not known`() throws {
        let lab = try Lab()
        _ = try makeDirectory("a", nil, in: lab)
        #expect(throws: FileError.self) { try makeDirectory("a", request, in: lab) }
        #expect(try made(lab, request) == nil)
    }

    @Test func `only so many are kept, and none for another mount`() throws {
        let lab = try Lab()
        _ = try makeDirectory("a", request, in: lab)
        let later = RequestNumber(rawValue: request.rawValue + 2 * CarriedOutRequests.count)
        let number = try makeDirectory("b", later, in: lab)
        #expect(try made(lab, request) == nil)
        #expect(try made(lab, later) == number)
        try lab.replica.forgetRequests()
        #expect(try made(lab, later) == nil)
    }

    @Test func `files without names are kept for programs that go on with them, and only for these`() throws {
        let lab = try Lab()
        let number = try lab.makeFile("f", bytes: "text")
        let directory = try makeDirectory("d", nil, in: lab)
        try lab.replica.change { transaction in
            _ = try transaction.removeFile(try ItemName("f"), in: .root)
            _ = try transaction.removeDirectory(try ItemName("d"), in: .root)
        }
        lab.isResumed = true
        for _ in 0..<2 {
            try lab.killAndOpen()
            #expect(Set(try lab.replica.look { try $0.namelessInodes() }) == [number, directory])
            #expect(try lab.replica.openBytes(of: number).read(byteCount: 9, at: 0) == Array("text".utf8))
            #expect(try lab.replica.check() == [])
            #expect(try lab.replica.look { try $0.lastInode() } >= directory)
        }
        lab.isResumed = false
        try lab.killAndOpen()
        #expect(try lab.replica.look { try $0.namelessInodes() } == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(lab.path)/staging/removed") == [])
    }

    @Test func `the bytes of a file without a name that was about to get one are moved back`() throws {
        for step in 1...10 {
            let lab = try Lab()
            let number = try lab.makeFile("f", bytes: "text")
            try lab.replica.change { _ = try $0.removeFile(try ItemName("f"), in: .root) }
            lab.isResumed = true
            lab.crash.arm(step)
            _ = try? lab.replica.change {
                try $0.link(number, in: .root, as: try ItemName("g"), isNameless: true)
            }
            let isCrashed = lab.crash.crashedAt != nil
            try lab.killAndOpen()
            #expect(try lab.replica.openBytes(of: number).read(byteCount: 9, at: 0) == Array("text".utf8))
            #expect(try lab.replica.check() == [], "step \(step)")
            if !isCrashed { break }
        }
    }
}

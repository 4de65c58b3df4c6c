import Foundation
import GRDB
import Model
import Testing

@testable import Replica

/// Damaged values in the index are found by the check.
@Suite struct ValueCheckTests {
    struct Damage: CustomTestStringConvertible {
        var sql: String
        var sentence: String

        var testDescription: String { sql }
    }

    private static let damage = [
        Damage(sql: "UPDATE inodes SET content = x'02' WHERE kind = 0", sentence: "a: the content is damaged"),
        Damage(
            sql: "UPDATE inodes SET content = substr(content, 1, 20) WHERE kind = 0",
            sentence: "a: the content is damaged"),
        Damage(
            sql: "UPDATE inodes SET content = x'0100000000' WHERE kind = 0",
            sentence: "a: the content has 0 bytes, but its file has 5"),
        Damage(
            sql: "UPDATE inodes SET incoming = x'02' WHERE kind = 0",
            sentence: "a: the content that is on its way is damaged"),
        Damage(
            sql: "UPDATE entries SET base = x'02' WHERE name = 'a'", sentence: "a: the container's state is damaged"),
        Damage(
            sql: "UPDATE entries SET base = (SELECT base FROM entries WHERE name = 'd') WHERE name = 'a'",
            sentence: "a: the container's state is that of another item"),
        Damage(
            sql: "UPDATE entries SET conflicts = x'0200000001' WHERE name = 'a'",
            sentence: "a: the list of conflict versions is damaged"),
        Damage(
            sql: "UPDATE entries SET error = '{' WHERE name = 'a'", sentence: "a: the error of the download is damaged"),
        Damage(
            sql: "INSERT INTO history VALUES(x'00112233445566778899aabbccddeeff', 1, 0, 1, x'01')",
            sentence: "00112233445566778899AABBCCDDEEFF: an earlier state is damaged"),
        Damage(sql: "UPDATE inodes SET kind = 77 WHERE kind = 0", sentence: "a: the kind is damaged"),
        Damage(sql: "UPDATE entries SET name = 'x/y' WHERE name = 'a'", sentence: "x/y: the name is damaged"),
    ]

    @Test(arguments: damage) func `a damaged value in the index is found`(_ damage: Damage) throws {
        let lab = try Lab()
        try lab.makeFile("a")
        _ = try lab.makeDirectory("d")
        try lab.uploadAll()
        #expect(try lab.replica.check() == [])
        try lab.replica.commitChanges()
        try lab.replica.writer.write { try $0.execute(sql: damage.sql) }
        let found = try lab.replica.check()
        #expect(found.contains("index: \(damage.sentence)"), "\(found)")
    }

    @Test func `what needs no chunk list does not decode it`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a")
        try lab.uploadAll()
        try lab.replica.commitChanges()
        try lab.replica.writer.write { try $0.execute(sql: "UPDATE inodes SET content = x'02' WHERE kind = 0") }
        let found = try lab.replica.read { try $0.inode(inode) }
        #expect(found.hasContent && !found.hasIncoming && found.isLocal && found.attributes.kind == .file)
        #expect(throws: PackedReader.damaged) { try found.content }
        #expect(throws: PackedReader.damaged) { try found.newest }
        #expect(try found.incoming == nil)
    }

    @Test func `a damaged deletion that waits to be uploaded is found`() throws {
        let lab = try Lab()
        try lab.makeFile("a")
        try lab.uploadAll()
        let item = try #require(try lab.replica.read { try $0.entries(of: $0.resolve("a")).first?.item })
        _ = try lab.removeFile(lab.name("a"), in: .root)
        try lab.replica.commitChanges()
        try lab.replica.writer.write { try $0.execute(sql: "UPDATE outbox SET base = x'02'") }
        let id = item.description.replacing("-", with: "").uppercased()
        #expect(try lab.replica.check() == ["index: \(id): the record of a deleted item is damaged"])
    }
}

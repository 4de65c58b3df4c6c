import Control
import Foundation
import Model
import Programs
import Remote
import RemoteS3
import Replica
import S3Server
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

/// Scripts read containers that this code wrote, and this code reads containers that a script wrote.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct SnapshotScriptTests {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "scripts-\(UUID())").path
    private var container: String { "\(directory)/container" }
    private var output: String { "\(directory)/output" }

    init() throws { try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true) }

    private func run(
        _ script: String, _ arguments: String..., variables: [String: String] = [:]
    ) async throws -> (status: Int32, output: String) {
        let path = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../scripts/\(script)").standardizedFileURL.path
        let result = try await Program.result(of: [path] + arguments, environment: variables)
        return (result.status, result.output + result.errors)
    }

    private func remove() throws { try FileManager.default.removeItem(atPath: directory) }

    private func restored(_ path: String) throws -> String {
        try String(contentsOfFile: "\(output)/\(path)", encoding: .utf8)
    }

    @Test(arguments: [false, true])
    func `a container with a trimmed log is restored from its newest good snapshot`(_ isDamaged: Bool) async throws {
        let store = try DirectoryStore(root: container, createIfMissing: true)
        let a = try await TestDevice.start(on: store, name: "A")
        try a.makeDirectory("d")
        try await a.write("one", to: "d/one")
        try await a.write("", to: "empty")
        // Long enough to have a head.
        let large = String(repeating: "large", count: 300_000)
        try await a.write(large, to: "large")
        _ = try a.fileSystem.make(
            .symbolicLink(to: "d/one"), as: try ItemName("link"), in: .root, by: TestDevice.caller)
        try a.fileSystem.replica.change {
            try $0.setXattr("user.colour", Array("blue".utf8), of: $0.rows.resolve("d/one"), mode: .any)
        }
        try await a.control.sync.sync(wait: true)
        let number = try #require(try await a.fileSystem.syncEngine.snapshots.make())
        for commit in 1...number { try await ChangeLog(store: store).trim(commit) }
        try await a.write("two", to: "d/two")
        try a.remove("empty")
        try await a.control.sync.sync(wait: true)
        if isDamaged {
            let last = try #require(try await a.fileSystem.syncEngine.snapshots.make())
            let object = try await store.get(SnapshotStore.key(last), range: nil).collect(upTo: 1 << 20)
            try await store.put(SnapshotStore.key(last), .bytes(Array(object.prefix(object.count / 2))))
            // The log is not complete either, so the earlier snapshot is used.
        }
        let result = try await run("restore.py", container, output)
        #expect(result.status == (isDamaged ? 1 : 0), "\(result.output)")
        #expect(try restored("d/one") == "one")
        #expect(try restored("d/two") == "two")
        #expect(try restored("large") == large)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "\(output)/link") == "d/one")
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: output)) == ["d", "large", "link"])
        try remove()
        try await a.close()
    }

    @Test(
        .enabled(if: S3Server.isAvailable, "there is no S3 server: \(S3Server.unavailable ?? "")"),
        .enabled("python3 has no boto3") {
            (try? await Program.run(["python3", "-c", "import boto3"])) != nil
        })
    func `a container in a bucket is restored from its snapshot`() async throws {
        let server = try await S3Server.shared
        let url = "s3://\(S3Server.bucket)/snapshots/\(UUID().uuidString)"
        let store = S3Store(try S3Location(url, environment: server.variables), variables: server.variables)
        let a = try await TestDevice.start(on: store, name: "A")
        try await a.write("one", to: "one")
        try await a.control.sync.sync(wait: true)
        let number = try #require(try await a.fileSystem.syncEngine.snapshots.make())
        for commit in 1...number { try await ChangeLog(store: store).trim(commit) }
        try await a.write("two", to: "two")
        try await a.control.sync.sync(wait: true)
        let result = try await run("restore.py", url, output, variables: server.variables)
        #expect(result.status == 0, "\(result.output)")
        #expect(try restored("one") == "one")
        #expect(try restored("two") == "two")
        try remove()
        try await a.close()
    }

    @Test func `a trimmed log without a snapshot is reported as damaged`() async throws {
        let store = try DirectoryStore(root: container, createIfMissing: true)
        let a = try await TestDevice.start(on: store, name: "A")
        try await a.write("one", to: "one")
        try await a.control.sync.sync(wait: true)
        try await ChangeLog(store: store).trim(1)
        let result = try await run("restore.py", container, output)
        #expect(result.status == 1)
        #expect(result.output.contains("commit 1 was trimmed"))
        try remove()
        try await a.close()
    }

    @Test(arguments: [false, true])
    func `a log with a gap is reported as damaged, even if the gap was filled`(_ isFilled: Bool) async throws {
        let store = try DirectoryStore(root: container, createIfMissing: true)
        let log = ChangeLog(store: store)
        let a = try await TestDevice.start(on: store, name: "A")
        for name in ["one", "two", "three"] {
            try await a.write(name, to: name)
            try await a.control.sync.sync(wait: true)
        }
        try await a.close()
        #expect(try await run("restore.py", container, "--verify-only").status == 0)
        try await store.delete(ChangeLog.key(2))
        if isFilled {
            let commit = Commit(
                sequence: 2, device: DeviceID(uuid: UUID()), deviceName: "", time: Timestamp(rawValue: 1),
                nonce: UUID(),
                previous: try await log.read(1)?.commit.nonce, records: [], tombstones: [])
            #expect(try await log.append(commit) == .landed)
        }
        let result = try await run("restore.py", container, output)
        #expect(result.status == 1)
        let sentence = isFilled ? "commit 3 is not based on the commit 2" : "commits 2 to 2 are missing"
        #expect(result.output.contains(sentence), "\(result.output)")
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: output)) == ["one", "three"])
        try remove()
    }

    @Test func `a generated container works like any other`() async throws {
        #expect(try await run("generate-container", container, "--items", "1000", "--directories", "37").status == 0)
        let store = try DirectoryStore(root: container, createIfMissing: false)
        let a = try await TestDevice.start(on: store, name: "A")
        #expect(await a.fileSystem.syncEngine.waitForTree(atMost: .seconds(120)))
        #expect(try a.containerStatus().itemCount == 1000)
        #expect(a.fileSystem.replica.applied == 1)
        let path = "directory 000000/directory 000001/file 00000030.txt"
        #expect(try await a.read(path).hasPrefix("Every file of this container"))
        #expect(try a.fileSystem.attributes(of: a.inode(path)).size == 1000)
        try await a.write("more", to: "more")
        try a.rename("directory 000000", to: "renamed")
        try await a.control.sync.sync(wait: true)
        #expect(a.fileSystem.replica.applied > 1)
        #expect(try await a.fileSystem.syncEngine.check() == [])
        #expect(try await a.fileSystem.syncEngine.collectGarbage(grace: .zero, isDryRun: false).condemnedCount == 0)
        let result = try await run("restore.py", container, output)
        #expect(result.status == 0, "\(result.output)")
        #expect(try restored("more") == "more")
        #expect(try restored("renamed/directory 000001/file 00000030.txt").utf8.count == 1000)
        try remove()
        try await a.close()
    }
}

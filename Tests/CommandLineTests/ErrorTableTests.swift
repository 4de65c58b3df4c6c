import Foundation
import Model
import NIOHTTP1
import Remote
import Testing

@testable import Daemon
@testable import RemoteS3
@testable import Replica
@testable import dewpoint

/// The table of errors in the Operations page, compared with what the code says.
@Suite struct ErrorTableTests {
    struct Row: Hashable {
        var status: Int32
        var sentence: String
    }

    private static let url = "s3://my-notes/work"

    private static func context() throws -> S3Context {
        S3Context(
            location: try S3Location(url, endpoint: "https://s3.example.com", environment: ["HOME": "/nonexistent"]),
            region: "eu-1",
            credentials: Credentials(accessKeyID: "AKIA1", secretAccessKey: "hush", origin: "the environment"),
            time: "20260131T120000Z", method: "GET")
    }

    private static func row(_ error: any Error) throws -> Row {
        let failure = try #require(CommandFailure(error))
        return Row(status: failure.status.rawValue, sentence: failure.sentence)
    }

    private static func row(ofResponse status: UInt, _ code: String, _ rest: String = "") throws -> Row {
        let body = "<Error><Code>\(code)</Code>\(rest)</Error>"
        let fault = S3Fault(status: status, headers: [:], body: Array(body.utf8))
        return try row(DaemonError(fault.storeError(key: "container.json", context()), url: url))
    }

    private static func row(ofConnection fault: TransportFault) throws -> Row {
        try row(DaemonError(fault.storeError(key: "container.json", context()), url: url))
    }

    private static func row(of body: () throws(CommandFailure) -> Void) throws -> Row {
        try row(#require(throws: CommandFailure.self, performing: body))
    }

    private static let mounts = MountTable(
        text: """
            22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
            40 22 0:39 / /mnt/work rw,nosuid - fuse.dewpoint dewpoint rw,user_id=0,group_id=0
            """)

    private static let id = ContainerIdentifier("iCloud.com.example.Work")!

    /// By the causes in the table.
    private static func rows() throws -> [String: Row] {
        [
            "wrong access key": try row(ofResponse: 403, "InvalidAccessKeyId"),
            "wrong secret key": try row(ofResponse: 403, "SignatureDoesNotMatch"),
            "expired keys": try row(ofResponse: 400, "ExpiredToken"),
            "missing permission": try row(ofResponse: 403, "AccessDenied"),
            "wrong clock": try row(
                ofResponse: 403, "RequestTimeTooSkewed", "<ServerTime>2026-01-31T13:00:00Z</ServerTime>"),
            "no such bucket": try row(ofResponse: 404, "NoSuchBucket"),
            "wrong region": try row(ofResponse: 400, "AuthorizationHeaderMalformed", "<Region>eu-2</Region>"),
            "untrusted or expired certificate": try row(
                ofConnection: TransportFault(
                    tls: "handshakeFailed(sslError([Error: 268435581 error:1000007d:CERTIFICATE_VERIFY_FAILED]))")),
            "certificate of another host": try row(
                ofConnection: TransportFault(
                    tls: "NIOSSLExtraError.failedToValidateHostname: Couldn't find a in certificate from peer")),
            "no TLS at the address": try row(
                ofConnection: TransportFault(tls: "handshakeFailed(sslError([error:100000f7:WRONG_VERSION_NUMBER]))")),
            "other TLS failure": try row(ofConnection: TransportFault(tls: "uncleanShutdown")),
            "no answer": try row(ofConnection: TransportFault("no answer in time")),
            "no container there": try row(DaemonError(StoreError(.notFound, key: "container.json"), url: url)),
            "an encrypted container without its container.json": try row(
                DaemonError(
                    ContainerRemains(places: ["keyring/", "log/", "packs/"]).error(creating: false), url: url)),
            "a new container where one has lost its container.json": try row(
                DaemonError(ContainerRemains(places: ["log/", "packs/"]).error(creating: true), url: url)),
            "a container there already": try row(
                DaemonError(StoreError(.preconditionFailed, key: "container.json"), url: url)),
            "a new container inside another": try row(
                DaemonError(creating: url + "/sub", inside: url, "the container \(id)")),
            "a container's directory in a mounted one": try row { () throws(CommandFailure) in
                try MountPlaces.check(directory: "/mnt/work/store", mounts: mounts)
            },
            "a mountpoint in a mounted container": try row { () throws(CommandFailure) in
                try MountPlaces.check(mountpoint: "/mnt/work/sub", directory: nil, mounts: mounts)
            },
            "mounted already, there": Row(
                status: ExitStatus.busy.rawValue,
                sentence: MountPlaces.alreadyMounted(url, at: "/mnt/work", asked: "/mnt/work")),
            "mounted already, elsewhere": Row(
                status: ExitStatus.busy.rawValue,
                sentence: MountPlaces.alreadyMounted(url, at: "/mnt/work", asked: "/mnt/new")),
            "its state is in use": try row(DaemonError(FileError(.busy, ""), state: "/state")),
            "a second container with the same id": try row(
                DaemonError(Replica.otherContainer("\(id)", than: id), state: "/state")),
            "a path given twice": try row { () throws(CommandFailure) in
                try CommandFailure.refuseRepetition(["/mnt/work/a", "/mnt/work/a"])
            },
        ]
    }

    private static func documented() throws -> [String: Row] {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/Model/Documentation.docc/Operations.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let section = try #require(
            text.components(separatedBy: "\n## Errors\n").last?.components(separatedBy: "\n## ")[0])
        var rows: [String: Row] = [:]
        for line in section.split(separator: "\n") where line.hasPrefix("| ") {
            let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
            guard cells.count == 3, let status = Int32(cells[1]) else { continue }
            rows[cells[0]] = Row(status: status, sentence: cells[2])
        }
        return rows
    }

    @Test func `each error says what the table of errors says`() throws {
        let (code, page) = (try Self.rows(), try Self.documented())
        for cause in Set(code.keys).union(page.keys).sorted() {
            #expect(
                code[cause] == page[cause],
                "| \(cause) | \(code[cause]?.status ?? 0) | \(code[cause]?.sentence ?? "not in the test") |")
        }
    }

    @Test func `no error shows text of a library, a secret, or a second sentence`() throws {
        for (cause, row) in try Self.rows() {
            for word in ["NIOSSL", "CERTIFICATE", "Error:", "hush", "error:1000", "_"] {
                #expect(!row.sentence.contains(word), "\(cause): \(row.sentence)")
            }
            #expect(!row.sentence.contains(". ") && !row.sentence.hasSuffix("."), "\(cause): \(row.sentence)")
        }
    }

    @Test(arguments: [("/mnt/a", "/mnt/a"), ("/mnt/a", "/mnt"), ("/mnt/a/b", "/mnt/a"), ("/", "/mnt")])
    func `a mountpoint and the container's own directory may not lie in each other`(
        mountpoint: String, directory: String
    ) {
        #expect(throws: CommandFailure.self) {
            try MountPlaces.check(mountpoint: mountpoint, directory: directory, mounts: MountTable(text: ""))
        }
    }

    @Test func `a mountpoint beside the container's directory is allowed, and so is one that is mounted on`() throws {
        try MountPlaces.check(mountpoint: "/mnt/ab", directory: "/mnt/a", mounts: Self.mounts)
        try MountPlaces.check(mountpoint: "/mnt/work", directory: nil, mounts: Self.mounts)
    }

    @Test(arguments: [
        ("file:///srv/cloud/Notes", ["file:///srv/cloud", "file:///srv"]), ("file:///srv", []),
        ("s3://bucket/a/b", ["s3://bucket/a", "s3://bucket"]), ("s3://bucket", []), ("s3://bucket/a/", ["s3://bucket"]),
    ])
    func `the places above a new container are examined, up to the bucket or the root`(
        url: String, outer: [String]
    ) throws {
        #expect(try ContainerLocation(url: url).outerLocations.map(\.url) == outer)
    }

    @Test func `a container is not created inside another one`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "dewpoint-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let identity = ContainerIdentity(
            id: Self.id, uuid: UUID(), created: Timestamp(rawValue: 0),
            settings: .init(name: "Work", documentScopePublic: true, folderLevels: .any))
        let outer = try ContainerLocation(url: "file://\(directory)/work")
        try await RemoteContainer.create(at: outer, identity: identity)
        let inner = try ContainerLocation(url: "file://\(directory)/work/deep/er")
        await #expect(throws: DaemonError(creating: inner.url, inside: outer.url, "the container \(Self.id)")) {
            try await RemoteContainer.create(at: inner, identity: identity)
        }
        #expect(!FileManager.default.fileExists(atPath: "\(directory)/work/deep"))
    }
}

import ControlAPI
import Foundation
import Glibc
import Model
import Testing

@testable import ControlClient

/// Daemons of other users that answer badly, or not at all.
@Suite(.timeLimit(.minutes(1))) struct HostileDaemonTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

    /// Begins an answer and goes on with it byte by byte, until the client has had enough.
    private static func dripping(_ start: String) throws -> FakeDaemon {
        try FakeDaemon { connection in
            try connection.begin(start)
            while true {
                try connection.write("1")
                usleep(1000)
            }
        }
    }

    @Test(arguments: [
        "", head, "\(head)Content-Length: 1000000\r\n\r\n", "\(head)Transfer-Encoding: chunked\r\n\r\nfffff\r\n",
        "\(head)\r\n",
    ])
    func `a daemon that answers byte by byte does not hold a question up`(start: String) async throws {
        let daemon = try Self.dripping(start)
        let client = ControlClient(socketPath: daemon.socketPath, deadline: .now + .milliseconds(300))
        await #expect(throws: ControlError.daemonUnreachable("no answer in time")) {
            try await client.send(ContainerStatusRequest())
        }
    }

    @Test(arguments: ["", "[\n"]) func `deleted items that come byte by byte are not waited for`(
        start: String
    ) async throws {
        let daemon = try Self.dripping("\(Self.head)\r\n\(start)")
        let client = ControlClient(socketPath: daemon.socketPath, bodyLimit: .milliseconds(300))
        await #expect(throws: ControlError.daemonUnreachable("no answer in time")) {
            for try await _ in try await client.trash() {}
        }
    }

    @Test func `whoever takes his time with the deleted items gets all of them`() async throws {
        let path = String(repeating: "a", count: 1 << 12)
        let item = try ControlJSON.encode(
            DeletedItem(item: ItemID(uuid: UUID()), path: path, kind: .file, size: 1, deleted: Timestamp(rawValue: 0)))
        let lines = repeatElement(String(decoding: item, as: UTF8.self), count: 100)
        let daemon = try FakeDaemon { connection in
            try connection.begin("\(Self.head)\r\n[\n\(lines.joined(separator: ",\n"))\n]\n")
        }
        let client = ControlClient(socketPath: daemon.socketPath, bodyLimit: .seconds(2))
        var count = 0
        for try await _ in try await client.trash() {
            // Longer than a daemon may take.
            if count == 0 { try await Task.sleep(for: .seconds(3)) }
            count += 1
        }
        #expect(count == 100)
    }

    @Test func `a caller that is cancelled does not wait for a daemon that says nothing`() async throws {
        let asked = Journal<Bool>()
        let daemon = try FakeDaemon { connection in
            try connection.begin("")
            asked.note(true)
            connection.drain()
        }
        let call = Task { try await ControlClient(socketPath: daemon.socketPath).send(SyncRequest(wait: true)) }
        _ = try await asked.entries(count: 1)
        call.cancel()
        await #expect(throws: ControlError.cancelled) { try await call.value }
        // The daemon sees the end of the connection.
        _ = try await daemon.requests()
    }

    @Test func `an answer without an end is cut off`() async throws {
        let daemon = try FakeDaemon { connection in
            try connection.begin("\(Self.head)\r\n")
            let piece = String(repeating: " ", count: 1 << 20)
            while true { try connection.write(piece) }
        }
        await #expect(throws: ControlError.notUnderstood("longer than 64 MiB")) {
            try await ControlClient(socketPath: daemon.socketPath).send(ContainerStatusRequest())
        }
    }

    @Test func `an event is read only when the one before was taken`() async throws {
        let sent = Journal<Int>()
        let daemon = try FakeDaemon { connection in
            try connection.open(welcoming: false)
            let line =
                #"{"event":"following","path":"\#(String(repeating: "a", count: 1 << 16))","time":"2026-01-31T12:00:00Z"}"#
            for number in 0..<200 {
                try connection.send(line: line)
                sent.note(number)
            }
            try connection.finish()
        }
        let events = try await ControlClient(socketPath: daemon.socketPath).events("")
        // Some 200 KiB are in the socket, and one part on its way; 13 MB do not arrive by themselves.
        try await Task.sleep(for: .milliseconds(200))
        #expect(sent.all.count < 100)
        var count = 0
        for try await _ in events { count += 1 }
        #expect(count == 200)
    }

    /// A symbolic link in the place of the directory leads to the socket of somebody else.
    @Test func `a directory that is a link is not trusted`() throws {
        let daemon = try FakeDaemon { _ = try $0.answerOnce(Done()) }
        let socket = URL(filePath: daemon.socketPath)
        let link = FileManager.default.temporaryDirectory.appending(path: "link-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createSymbolicLink(
            at: link, withDestinationURL: socket.deletingLastPathComponent())
        defer { try? FileManager.default.removeItem(at: link) }
        #expect { try ControlSocket.connect(path: link.appending(path: "s").path()) } throws: {
            ($0 as? FileError)?.code == .notPermitted
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a directory to another user"))
    func `a socket in another user's directory that is a link to root's is not asked`() async throws {
        let asked = Journal<Bool>()
        let daemon = try FakeDaemon { connection in
            _ = try connection.answerOnce(Done())
            asked.note(true)
        }
        let directory = FileManager.default.temporaryDirectory.appending(path: "other-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        let link = directory.appending(path: "s").path()
        #expect(symlink(daemon.socketPath, link) == 0 && chown(directory.path(), 4242, 4242) == 0)
        let error = await #expect(throws: ControlError.self) {
            try await ControlClient(socketPath: link).send(UnmountRequest(lazily: true))
        }
        #expect(
            error
                == .daemonUnreachable("\(link) is in a directory of user 4242, but user 0 listens there"),
            "\(String(describing: error))")
        #expect(asked.all.isEmpty)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can act as another user"))
    func `root asks another user's daemon, but changes nothing through it`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "user-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        let socket = directory.appending(path: "s").path()
        #expect(chown(directory.path(), 4242, 4242) == 0)
        let daemon = Process()
        let output = Pipe()
        daemon.executableURL = URL(filePath: "/usr/bin/env")
        daemon.arguments = [
            "setpriv", "--reuid=4242", "--regid=4242", "--clear-groups", "/usr/bin/python3", "-c",
            Self.daemonOfAnotherUser,
            socket,
        ]
        daemon.standardOutput = output
        try daemon.run()
        // It inherits the mask of this thread, which blocks SIGTERM.
        defer { kill(daemon.processIdentifier, SIGKILL) }
        func printed() -> String { String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) }
        #expect(printed() == "listening\n")

        let client = ControlClient(socketPath: socket)
        let error = await #expect(throws: ControlError.self) { try await client.send(UnmountRequest(lazily: true)) }
        guard case .refused(let refusal) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(refusal.code == .notPermitted && refusal.detail.hasPrefix("the daemon belongs to user 4242"))
        #expect(try await client.metrics() == "answered")
        #expect(printed() == "GET /metrics HTTP/1.1\n")
    }

    /// Prints the first line of each request.
    private static let daemonOfAnotherUser = """
        import os, socket, sys
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(sys.argv[1])
        listener.listen()
        os.write(1, b"listening\\n")
        while True:
            connection, _ = listener.accept()
            request = connection.recv(1 << 16)
            if request:
                os.write(1, request.split(b"\\r\\n")[0] + b"\\n")
                connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 8\\r\\n\\r\\nanswered")
            connection.close()
        """
}

import ControlAPI
import Foundation
import Glibc
import Model
import Synchronization

/// A daemon's socket whose sessions follow a test's script. Each runs on its own thread, so that it may block.
final class FakeDaemon: Sendable {
    let socketPath: String
    private let directory: URL
    private let listener: Int32
    private let sessions = Mutex<[Session]>([])

    /// - Parameter script: Runs for each connection, which ends when the script returns.
    init(_ script: @escaping @Sendable (Session) throws -> Void) throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "fake-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        socketPath = directory.appending(path: "s").path()
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        let descriptor = listener
        var address = withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) } + Array(socketPath.utf8) + [0]
        let byteCount = socklen_t(address.count)
        let isListening = address.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) {
                bind(descriptor, $0.baseAddress!, byteCount) == 0 && listen(descriptor, 16) == 0
            }
        }
        guard isListening else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        Thread.detachNewThread { [weak self] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { return }
                let session = Session(connection)
                guard let self else { return }
                self.sessions.withLock { $0.append(session) }
                Thread.detachNewThread {
                    // A script that throws ends its connection, which the test notices.
                    try? script(session)
                    session.hangUp()
                    session.over.store(true, ordering: .releasing)
                }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        // A leftover in the temporary directory is harmless.
        try? FileManager.default.removeItem(at: directory)
    }

    /// Waits until all connections have ended.
    ///
    /// - Returns: The requests received on each connection.
    func requests() async throws -> [[SessionRequest]] {
        let sessions = sessions.withLock { $0 }
        for session in sessions {
            while !session.isOver { try await Task.sleep(for: .milliseconds(1)) }
        }
        return sessions.map(\.requests)
    }

    func hangUp() { for session in sessions.withLock({ $0 }) { session.hangUp() } }

    struct Ended: Error {}

    /// One connection.
    final class Session: Sendable {
        private let descriptor: Int32
        private let buffer = Mutex<[UInt8]>([])
        private let log = Mutex<[SessionRequest]>([])
        fileprivate let over = Atomic(false)

        /// How long a script waits for a line.
        private static let limitSeconds = 20

        init(_ descriptor: Int32) {
            self.descriptor = descriptor
            var limit = timeval(tv_sec: Self.limitSeconds, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }

        deinit { close(descriptor) }

        var requests: [SessionRequest] { log.withLock { $0 } }

        /// Whether its script has returned.
        var isOver: Bool { over.load(ordering: .acquiring) }

        func hangUp() { shutdown(descriptor, Int32(SHUT_RDWR)) }

        /// Reads the request's head and answers it, by default with a welcome.
        @discardableResult func open(
            welcoming: Bool = true, client: UInt64 = 3, keepsClaims: Bool = false
        ) throws -> String {
            let head = try text(upTo: "\r\n\r\n")
            try write("HTTP/1.1 200 OK\r\nContent-Type: application/jsonl\r\nTransfer-Encoding: chunked\r\n\r\n")
            if welcoming { try send(.welcome(client: client, keepsClaims: keepsClaims)) }
            return head
        }

        /// Reads the request's head and sends the beginning of an answer.
        func begin(_ answer: String) throws {
            _ = try text(upTo: "\r\n\r\n")
            if !answer.isEmpty { try write(answer) }
        }

        /// Reads the request's head and answers with an error.
        func refuse(_ fault: ControlFault) throws {
            _ = try text(upTo: "\r\n\r\n")
            let body = String(decoding: try ControlJSON.encode(fault), as: UTF8.self)
            try write(
                "HTTP/1.1 \(fault.httpStatus) No\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
            )
        }

        /// Reads one request and answers with a redirect to the same target at another socket.
        func redirect(status: Int, to socketPath: String) throws {
            // All of it: a client that is still sending need not read an answer.
            let target = try request().head[0].split(separator: " ")[1]
            let host = socketPath.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            try write(
                "HTTP/1.1 \(status) Elsewhere\r\nLocation: http+unix://\(host)\(target)\r\nContent-Length: 0\r\n"
                    + "Connection: close\r\n\r\n")
        }

        /// Reads one plain request and answers it.
        ///
        /// - Returns: The request's first line and its body.
        func answerOnce(_ value: some Encodable) throws -> (line: String, body: String) {
            let (head, body) = try request()
            let answer = String(decoding: try ControlJSON.encode(value), as: UTF8.self)
            try write("HTTP/1.1 200 OK\r\nContent-Length: \(answer.utf8.count)\r\n\r\n\(answer)")
            return (head[0], body)
        }

        /// Reads one request whose body, if it has one, has a length.
        private func request() throws -> (head: [String], body: String) {
            let head = try text(upTo: "\r\n\r\n").components(separatedBy: "\r\n")
            let length = head.first { $0.lowercased().hasPrefix("content-length:") }?.split(separator: " ").last
            return (head, String(decoding: try bytes(count: length.flatMap { Int($0) } ?? 0), as: UTF8.self))
        }

        /// Waits for the next line, which must be exactly one chunk.
        func next() throws -> SessionRequest {
            let size = try text(upTo: "\r\n")
            guard let count = Int(size, radix: 16), count > 0 else { throw Ended() }
            let chunk = try bytes(count: count + 2).dropLast(2)
            guard chunk.last == UInt8(ascii: "\n"), !chunk.dropLast().contains(UInt8(ascii: "\n")) else {
                throw Ended()
            }
            let request = try ControlJSON.decode(SessionRequest.self, from: Data(chunk))
            log.withLock { $0.append(request) }
            return request
        }

        func nextClaim() throws -> ClaimRequest {
            guard case .claim(let request) = try next() else { throw Ended() }
            return request
        }

        func send(_ events: SessionEvent...) throws {
            for event in events { try send(line: String(decoding: try ControlJSON.encode(event), as: UTF8.self)) }
        }

        /// Sends a chunk that contains a line or a part of one.
        func send(line: String, ending: String = "\n") throws {
            try write("\(String(line.utf8.count + ending.utf8.count, radix: 16))\r\n\(line)\(ending)\r\n")
        }

        /// Ends the response with the last chunk.
        func finish() throws { try write("0\r\n\r\n") }

        /// Reads requests until the client closes the connection.
        func drain() { while (try? next()) != nil {} }

        func write(_ text: String) throws {
            let bytes = Array(text.utf8)
            guard Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { throw Ended() }
        }

        private func text(upTo end: String) throws -> String {
            while true {
                let found: String? = buffer.withLock { buffer in
                    guard let range = buffer.firstRange(of: Array(end.utf8)) else { return nil }
                    defer { buffer.removeSubrange(..<range.upperBound) }
                    return String(decoding: buffer[..<range.lowerBound], as: UTF8.self)
                }
                if let found { return found }
                try fill()
            }
        }

        private func bytes(count: Int) throws -> [UInt8] {
            while buffer.withLock({ $0.count }) < count { try fill() }
            return buffer.withLock { buffer in
                defer { buffer.removeFirst(count) }
                return Array(buffer.prefix(count))
            }
        }

        private func fill() throws {
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { throw Ended() }
            buffer.withLock { $0 += chunk[..<count] }
        }
    }
}

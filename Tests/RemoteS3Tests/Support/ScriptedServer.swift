import Foundation
import Glibc
import Synchronization

/// A server on loopback that answers each request as a test scripts it. It can also stay silent, close the connection
/// or send half a response.
final class ScriptedServer: Sendable {
    struct Request: Sendable {
        let method: String
        /// Path and query, as received.
        let target: String
        /// By lowercase names.
        let headers: [String: String]
        let body: [UInt8]
        /// The number of its connection, from 0.
        let connection: Int
    }

    enum Reply: Sendable {
        /// As a store answers: with its mark, and with `Content-Length` added, unless the headers have one.
        case answer(Int, [String: String] = [:], [UInt8] = [])
        /// As somebody else answers: without a mark.
        case foreign(Int, [String: String] = [:], [UInt8] = [])
        /// In chunks of these, so that the length is not known from the start; the last chunk shows the end.
        case chunked(Int, [String: String] = [:], [[UInt8]])
        /// The first bytes of a response of a store, then the end of the connection.
        case part(Int, [String: String], [UInt8])
        /// Nothing, and the connection is reset.
        case reset
        /// Nothing, until the client closes the connection.
        case silence

        static func text(_ status: Int, _ headers: [String: String] = [:], _ text: String) -> Reply {
            .answer(status, headers, Array(text.utf8))
        }
    }

    let port: UInt16
    private let listener: Int32
    private let log = Mutex<[Request]>([])
    private let connectionCount = Mutex(0)
    private let reply: @Sendable (Request) -> Reply

    /// - Parameter reply: Called on a thread of the connection.
    init(_ reply: @escaping @Sendable (Request) -> Reply) throws {
        self.reply = reply
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [weak self] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { return }
                guard let self else { return }
                let number = self.connectionCount.withLock { count in
                    defer { count += 1 }
                    return count
                }
                Thread.detachNewThread { self.serve(connection, number) }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    var url: String { "http://127.0.0.1:\(port)" }

    /// The requests received so far.
    var requests: [Request] { log.withLock { $0 } }

    private func serve(_ descriptor: Int32, _ number: Int) {
        defer { close(descriptor) }
        var buffer: [UInt8] = []
        while let request = Self.read(descriptor, &buffer, number) {
            log.withLock { $0.append(request) }
            switch reply(request) {
            case .answer(let status, let headers, let body):
                Self.answer(descriptor, request, status, headers.merging(Self.mark) { $1 }, body)
            case .foreign(let status, let headers, let body):
                Self.answer(descriptor, request, status, headers, body)
            case .chunked(let status, let headers, let pieces):
                let head = Self.head(
                    status, headers.merging(Self.mark) { $1 }.merging(["Transfer-Encoding": "chunked"]) { $1 })
                let body = (pieces + [[]]).flatMap { piece in
                    Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8)
                }
                Self.write(descriptor, head + (request.method == "HEAD" ? [] : body))
            case .part(let status, let headers, let body):
                Self.write(descriptor, Self.head(status, headers.merging(Self.mark) { $1 }) + body)
                return
            case .reset:
                var linger = linger(l_onoff: 1, l_linger: 0)
                setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
                return
            case .silence:
                var byte: UInt8 = 0
                while recv(descriptor, &byte, 1, 0) > 0 {}
                return
            }
        }
    }

    /// Each answer of a store has one.
    private static let mark = ["x-amz-request-id": "scripted"]

    private static func answer(
        _ descriptor: Int32, _ request: Request, _ status: Int, _ headers: [String: String], _ body: [UInt8]
    ) {
        var headers = headers
        if headers["Content-Length"] == nil { headers["Content-Length"] = "\(body.count)" }
        write(descriptor, head(status, headers) + (request.method == "HEAD" ? [] : body))
    }

    private static func head(_ status: Int, _ headers: [String: String]) -> [UInt8] {
        let lines = ["HTTP/1.1 \(status) Scripted"] + headers.map { "\($0): \($1)" } + ["", ""]
        return Array(lines.joined(separator: "\r\n").utf8)
    }

    private static func write(_ descriptor: Int32, _ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    private static func read(_ descriptor: Int32, _ buffer: inout [UInt8], _ number: Int) -> Request? {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        func more() -> Bool {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { return false }
            buffer += chunk[..<count]
            return true
        }
        var end = buffer.firstRange(of: Array("\r\n\r\n".utf8))
        while end == nil {
            guard more() else { return nil }
            end = buffer.firstRange(of: Array("\r\n\r\n".utf8))
        }
        guard let end else { return nil }
        let lines = String(decoding: buffer[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        buffer.removeSubrange(..<end.upperBound)
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts.count == 2 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
        }
        let length = headers["content-length"].flatMap { Int($0) } ?? 0
        while buffer.count < length { guard more() else { return nil } }
        let words = lines[0].split(separator: " ")
        let request = Request(
            method: String(words[0]), target: String(words[1]), headers: headers, body: Array(buffer[..<length]),
            connection: number)
        buffer.removeSubrange(..<length)
        return request
    }
}

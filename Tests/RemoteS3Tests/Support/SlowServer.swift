import Foundation
import Glibc
import Synchronization

/// Reads and writes a few bytes at a time on loopback, through a small buffer.
final class SlowServer: Sendable {
    private let listener: Int32
    private let port: UInt16
    private let count = Mutex(0)

    /// - Parameters:
    ///   - byteCount: How much is read, or written, between two pauses.
    ///   - pause: In seconds.
    ///   - answering: The length of the response's body, which alone is slow; 0: the request is.
    init(byteCount: Int, pause: TimeInterval, answering length: Int = 0) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        listener = descriptor
        var bufferByteCount: Int32 = 4096
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bufferByteCount, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var addressLength = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, addressLength) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, $0, &addressLength) == 0
            }
        }
        guard isListening else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [weak self] in
            while case let connection = accept(descriptor, nil, nil), connection >= 0 {
                self?.count.withLock { $0 += 1 }
                Thread.detachNewThread { Self.serve(connection, byteCount, pause, length) }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    var url: String { "http://127.0.0.1:\(port)" }
    var connectionCount: Int { count.withLock { $0 } }

    private static func serve(_ descriptor: Int32, _ byteCount: Int, _ pause: TimeInterval, _ length: Int) {
        defer { close(descriptor) }
        var buffer: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: byteCount)
        var expected: Int?
        while expected.map({ buffer.count < $0 }) ?? true {
            let count = recv(descriptor, &piece, byteCount, 0)
            guard count > 0 else { return }
            buffer += piece[..<count]
            if let end = buffer.firstRange(of: Array("\r\n\r\n".utf8)) {
                let head = String(decoding: buffer[..<end.lowerBound], as: UTF8.self).lowercased()
                let body = head.firstRange(of: "content-length: ").flatMap {
                    Int(head[$0.upperBound...].prefix { $0.isNumber })
                }
                expected = end.upperBound + (body ?? 0)
            }
            if length == 0 { Thread.sleep(forTimeInterval: pause) }
        }
        let head = "HTTP/1.1 200 OK\r\nx-amz-request-id: slow\r\nETag: \"x\"\r\nContent-Length: \(length)\r\n\r\n"
        send(descriptor, head, head.utf8.count, Int32(MSG_NOSIGNAL))
        var sent = 0
        while sent < length {
            let count = send(descriptor, piece, min(byteCount, length - sent), Int32(MSG_NOSIGNAL))
            guard count > 0 else { return }
            sent += count
            Thread.sleep(forTimeInterval: pause)
        }
        while recv(descriptor, &piece, byteCount, 0) > 0 {}
    }
}

import Foundation
import Glibc
import Synchronization

/// A proxy on loopback that opens tunnels, all of them to one port of this machine.
final class Tunnel: Sendable {
    private let listener: Int32
    private let port: UInt16
    private let heads = Mutex<[String]>([])

    /// - Parameter target: The port that each tunnel leads to, whatever the request names.
    init(to target: UInt16) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        listener = descriptor
        guard let port = Self.listen(descriptor) else { throw POSIXError(.EIO) }
        self.port = port
        Thread.detachNewThread { [weak self] in
            while case let connection = accept(descriptor, nil, nil), connection >= 0 {
                guard let self else { return }
                Thread.detachNewThread { self.serve(connection, target) }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    var authority: String { "127.0.0.1:\(port)" }

    /// The requests for tunnels, with their headers.
    var requests: [String] { heads.withLock { $0 } }

    private func serve(_ client: Int32, _ target: UInt16) {
        defer { close(client) }
        var head: [UInt8] = []
        var byte: UInt8 = 0
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard recv(client, &byte, 1, 0) == 1 else { return }
            head.append(byte)
        }
        heads.withLock { $0.append(String(decoding: head, as: UTF8.self)) }
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        defer { close(server) }
        guard Self.with(port: target, { connect(server, $0, $1) }) == 0 else { return }
        let answer = "HTTP/1.1 200 Connection established\r\n\r\n"
        send(client, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            Self.pass(server, client)
            done.signal()
        }
        Self.pass(client, server)
        done.wait()
    }

    private static func pass(_ source: Int32, _ target: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = recv(source, &buffer, buffer.count, 0), count > 0 {
            guard send(target, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(target, Int32(SHUT_WR))
    }

    private static func with(
        port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    private static func listen(_ descriptor: Int32) -> UInt16? {
        guard with(port: 0, { bind(descriptor, $0, $1) }) == 0, Glibc.listen(descriptor, 64) == 0 else { return nil }
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return result == 0 ? UInt16(bigEndian: address.sin_port) : nil
    }
}

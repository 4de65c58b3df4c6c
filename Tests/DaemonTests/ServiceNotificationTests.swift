import Daemon
import Foundation
import Glibc
import Testing

@Suite struct ServiceNotificationTests {
    /// A socket as a service manager has one.
    private final class Manager {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)

        /// - Parameter address: A path, or `@` and a name.
        init(_ address: String) throws {
            let name = Array(address.utf8)
            let isAbstract = address.hasPrefix("@")
            var place =
                withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) }
                + (isAbstract ? [0] + name.dropFirst() : name + [0])
            let byteCount = socklen_t(place.count)
            let result = place.withUnsafeMutableBytes { bytes in
                bytes.withMemoryRebound(to: sockaddr.self) { bind(descriptor, $0.baseAddress, byteCount) }
            }
            try #require(result == 0)
        }

        deinit { close(descriptor) }

        /// The next message; `nil` if there is none.
        func next() -> String? {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
        }
    }

    @Test(arguments: ["/tmp/notify-\(getpid())", "@dewpoint/notify-\(getpid())"])
    func `states are sent to the socket, a path or an abstract name`(_ address: String) throws {
        defer { unlink(address) }
        let manager = try Manager(address)
        let notification = ServiceNotification(socket: address)
        notification.status("opening")
        notification.ready("mounted at /a\nREADY=0")
        notification.stopping(String(repeating: "x", count: 300))
        #expect(manager.next() == "STATUS=opening")
        #expect(manager.next() == "READY=1\nSTATUS=mounted at /a READY=0")
        #expect(manager.next() == "STOPPING=1\nSTATUS=" + String(repeating: "x", count: 256))
        #expect(manager.next() == nil)
    }

    @Test(arguments: [
        nil, "", "relative", "/nonexistent/socket", "vsock:2:1", "/" + String(repeating: "n", count: 200),
    ])
    func `without a manager that listens nothing happens`(_ address: String?) {
        ServiceNotification(socket: address).ready("mounted")
    }
}

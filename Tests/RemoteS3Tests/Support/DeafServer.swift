import Glibc

/// Listens on loopback but neither accepts nor reads: the kernel accepts the connection and a few bytes, and then no
/// more.
final class DeafServer: Sendable {
    private let listener: Int32
    private let port: UInt16

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        listener = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        precondition(isListening, "loopback has no port to listen at")
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(listener) }

    var url: String { "http://127.0.0.1:\(port)" }
}

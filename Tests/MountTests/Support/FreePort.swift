import Glibc

/// A port of loopback that nobody uses.
enum FreePort {
    /// Below the ports that the kernel gives to connections by itself (ip(7), `ip_local_port_range`), so that none of
    /// those takes it before the program under test does.
    static func random() -> Int {
        while true {
            let port = UInt16.random(in: 20_000..<32_000)
            if isFree(port) { return Int(port) }
        }
    }

    private static func isFree(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}

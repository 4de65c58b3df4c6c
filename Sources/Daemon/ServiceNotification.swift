import Glibc

/// Tells the service manager that started this process how it is doing, by the protocol of sd_notify(3): one datagram to
/// the socket that `NOTIFY_SOCKET` names, for each change.
///
///     READY=1          the mount and the control API answer
///     STOPPING=1       they are about to end
///     STATUS=TEXT      one sentence, shown by `systemctl status`
package struct ServiceNotification: Sendable {
    /// The address of the socket, as the kernel takes it; `nil` without a service manager.
    private let address: [UInt8]?

    /// The most bytes of a status: one line of a terminal, or two.
    private static let statusByteLimit = 256

    /// - Parameter socket: The value of `NOTIFY_SOCKET`: a path, or `@` and a name in the abstract namespace. Others,
    ///   such as `vsock:`, are not notified.
    package init(socket: String?) {
        guard let socket, socket.hasPrefix("/") || socket.hasPrefix("@"),
            2...Self.addressByteLimit ~= socket.utf8.count
        else {
            address = nil
            return
        }
        let isAbstract = socket.hasPrefix("@")
        // struct sockaddr_un: two bytes of family, then the path and a zero, or a zero and exactly the name.
        address =
            withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) }
            + (isAbstract ? [0] + socket.utf8.dropFirst() : Array(socket.utf8) + [0])
    }

    /// The longest `NOTIFY_SOCKET` in bytes: the size of `sun_path`, less a zero at the end.
    private static let addressByteLimit = 107

    /// The notification of this process. The variable is removed, so that programs that the daemon starts do not speak
    /// for it.
    package static func inherited() -> ServiceNotification {
        let value = getenv("NOTIFY_SOCKET").map { String(cString: $0) }
        unsetenv("NOTIFY_SOCKET")
        return ServiceNotification(socket: value)
    }

    package func ready(_ status: String) { send("READY=1\nSTATUS=\(Self.line(status))") }

    package func stopping(_ status: String) { send("STOPPING=1\nSTATUS=\(Self.line(status))") }

    package func status(_ status: String) { send("STATUS=\(Self.line(status))") }

    /// A text without line ends, which would begin another assignment.
    private static func line(_ text: String) -> String {
        String(decoding: text.utf8.prefix(statusByteLimit).map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self)
    }

    /// Blocks for a moment at most: a manager that does not read loses the message.
    private func send(_ message: String) {
        guard let address else { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        // Without a descriptor the manager learns nothing, and the mount works all the same.
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var target = address
        let bytes = Array(message.utf8)
        let byteCount = socklen_t(target.count)
        target.withUnsafeMutableBytes { target in
            target.withMemoryRebound(to: sockaddr.self) {
                _ = sendto(
                    descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), $0.baseAddress, byteCount
                )
            }
        }
    }
}

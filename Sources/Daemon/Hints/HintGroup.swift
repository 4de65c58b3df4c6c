import Logging
import NIOCore
import NIOPosix

/// The sockets of the multicast group in which devices of a local network tell each other of commits.
///
/// One takes what is sent to the group; of the others, each sends to one network. They are opened anew when the networks of
/// this machine change.
struct HintGroup {
    /// In the part of the addresses that stay within a site (RFC 2365); with a time to live of one, within a network.
    static let address = "239.255.68.80"
    static let port = 28_770
    /// The most networks: 16.
    private static let networkLimit = 16

    private let group: SocketAddress
    private let receiver: any Channel
    private let senders: [any Channel]
    /// The networks that it is in.
    let networks: [Network]

    struct Network: Hashable {
        let name: String
        let address: String
    }

    /// - Returns: Those that can be told something now.
    static func networks() -> [Network] { devices().map(\.network) }

    private static func devices() -> [(network: Network, device: NIONetworkDevice, address: SocketAddress)] {
        let all = (try? System.enumerateDevices()) ?? []
        return all.filter { $0.multicastSupported && $0.address?.protocol == .inet }.compactMap { device in
            guard let address = device.address, let text = address.ipAddress else { return nil }
            return (Network(name: device.name, address: text), device, address)
        }.prefix(networkLimit).map(\.self)
    }

    /// - Throws: When there is no network, or a socket cannot be opened: `IOError`.
    static func open(
        logger: Logger, _ received: @escaping @Sendable (_ bytes: [UInt8], _ address: String) -> Void
    ) async throws -> HintGroup {
        let group = try SocketAddress(ipAddress: address, port: port)
        let devices = devices()
        guard !devices.isEmpty else { throw HintProblem.noNetwork }
        let receiver = try await HintSocket.open(at: group, isShared: true, received)
        var senders: [any Channel] = []
        for (network, device, address) in devices {
            do {
                guard let multicast = receiver as? any MulticastChannel else { throw HintProblem.noNetwork }
                try await multicast.joinGroup(group, device: device).get()
                // Multicast leaves through the device of the address that the socket is bound to: ip_route_output in
                // Linux's net/ipv4/route.c.
                senders.append(try await HintSocket.open(at: address))
            } catch {
                // The others may do.
                logger.debug("no multicast", metadata: ["network": "\(network.name)", "error": "\(error)"])
            }
        }
        guard !senders.isEmpty else {
            try? await receiver.close()
            throw HintProblem.noNetwork
        }
        return HintGroup(group: group, receiver: receiver, senders: senders, networks: devices.map(\.network))
    }

    func send(_ bytes: [UInt8]) {
        for sender in senders { HintSocket.send(bytes, to: group, through: sender) }
    }

    func close() async {
        for channel in senders + [receiver] { try? await channel.close() }
    }
}

enum HintProblem: Error, CustomStringConvertible {
    case noNetwork

    var description: String { "there is no network with multicast" }
}

import Logging
import NIOCore
import NIOPosix

/// The sockets of the multicast groups, one for each version of IP, in which devices of a local network tell each other of
/// commits. Who hears a datagram in both takes the second one for a repetition.
///
/// One socket takes what is sent to a group; of the others, each sends to one network. They are opened anew when the networks
/// of this machine change.
struct HintGroup {
    /// In the part of the addresses that stay within a site (RFC 2365); with a time to live of one, within a network.
    static let address = "239.255.68.80"
    /// Not permanently assigned, for a site (RFC 4291, section 2.7), and with one hop.
    static let address6 = "ff15::4450"
    static let port = 28_770
    /// The most networks of each version: 16.
    private static let networkLimit = 16

    /// What is open of one version.
    private struct Member {
        let group: SocketAddress
        let receiver: any Channel
        let senders: [any Channel]
    }

    private let members: [Member]
    /// The networks that it is in.
    let networks: [Network]

    struct Network: Hashable {
        let name: String
        let address: String
    }

    private struct Device {
        let network: Network
        let device: NIONetworkDevice
        let address: SocketAddress
    }

    /// - Returns: Those that can be told something now.
    static func networks() -> [Network] { (devices(.inet) + devices(.inet6)).map(\.network) }

    /// Those with an address of a version. Of IPv6, a network has several: one is enough.
    private static func devices(_ family: NIOBSDSocket.ProtocolFamily) -> [Device] {
        let all = (try? System.enumerateDevices()) ?? []
        var indices: Set<Int> = []
        return all.filter { $0.multicastSupported && $0.address?.protocol == family }.compactMap { device in
            guard let address = device.address, let text = address.ipAddress else { return nil }
            guard family == .inet || indices.insert(device.interfaceIndex).inserted else { return nil }
            return Device(network: Network(name: device.name, address: text), device: device, address: address)
        }.prefix(networkLimit).map(\.self)
    }

    /// - Throws: When there is no network, or a socket cannot be opened: `IOError`.
    static func open(
        logger: Logger, _ received: @escaping @Sendable (_ bytes: [UInt8], _ address: String) -> Void
    ) async throws -> HintGroup {
        var members: [Member] = []
        var failure: (any Error)?
        let versions = [(address, devices(.inet)), (address6, devices(.inet6))]
        for (address, devices) in versions where !devices.isEmpty {
            do {
                members.append(try await join(address, devices, logger: logger, received))
            } catch {
                // The other version may do.
                failure = error
            }
        }
        guard !members.isEmpty else { throw failure ?? HintProblem.noNetwork }
        return HintGroup(members: members, networks: versions.flatMap(\.1).map(\.network))
    }

    private static func join(
        _ address: String, _ devices: [Device], logger: Logger,
        _ received: @escaping @Sendable (_ bytes: [UInt8], _ address: String) -> Void
    ) async throws -> Member {
        let group = try SocketAddress(ipAddress: address, port: port)
        let receiver = try await HintSocket.open(at: group, isShared: true, received)
        var senders: [any Channel] = []
        for device in devices {
            do {
                guard let multicast = receiver as? any MulticastChannel else { throw HintProblem.noNetwork }
                try await multicast.joinGroup(group, device: device.device).get()
                senders.append(try await sender(through: device))
            } catch {
                // The others may do.
                logger.debug("no multicast", metadata: ["network": "\(device.network.name)", "error": "\(error)"])
            }
        }
        guard !senders.isEmpty else {
            try? await receiver.close()
            throw HintProblem.noNetwork
        }
        return Member(group: group, receiver: receiver, senders: senders)
    }

    /// Multicast of IPv4 leaves through the device of the address that the socket is bound to (ip_route_output in Linux's
    /// net/ipv4/route.c), that of IPv6 through the one that it is told (ipv6(7)): a link-local address is none by itself.
    private static func sender(through device: Device) async throws -> any Channel {
        guard device.address.protocol == .inet6 else { return try await HintSocket.open(at: device.address) }
        let sender = try await HintSocket.open(at: try SocketAddress(ipAddress: "::", port: 0))
        do {
            try await sender.setOption(
                ChannelOptions.Types.SocketOption(level: .ipv6, name: .ipv6_multicast_if),
                value: device.device.interfaceIndex
            ).get()
            return sender
        } catch {
            try? await sender.close()
            throw error
        }
    }

    func send(_ bytes: [UInt8]) {
        for member in members {
            for sender in member.senders { HintSocket.send(bytes, to: member.group, through: sender) }
        }
    }

    func close() async {
        for channel in members.flatMap({ $0.senders + [$0.receiver] }) { try? await channel.close() }
    }
}

enum HintProblem: Error, CustomStringConvertible {
    case noNetwork

    var description: String { "there is no network with multicast" }
}

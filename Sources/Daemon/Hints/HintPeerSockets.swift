import Logging
import Model
import NIOCore
import NIOPosix

/// The sockets for devices that are told of commits by name.
actor HintPeerSockets {
    private let peers: [HintAddress]
    private let logger: Logger
    private var channels: [NIOBSDSocket.ProtocolFamily: any Channel] = [:]
    private var addresses: [HintAddress: SocketAddress] = [:]
    /// Those that are reported as unknown.
    private var unknown: Set<HintAddress> = []

    init(_ peers: [HintAddress], logger: Logger) {
        self.peers = peers
        self.logger = logger
    }

    /// How often names are looked up: a device may have another address.
    private static let lookupInterval = Duration.seconds(60)

    /// Looks the names up, until cancelled.
    func resolveNowAndThen() async {
        guard !peers.isEmpty else { return }
        repeat { await resolve() } while (try? await Task.sleep(for: Self.lookupInterval)) != nil
    }

    private func resolve() async {
        for peer in peers {
            do {
                // Waits for a server of names.
                let found = try await NIOThreadPool.singleton.runIfActive {
                    try SocketAddress.makeAddressResolvingHost(peer.host, port: peer.port)
                }
                addresses[peer] = found
                unknown.remove(peer)
            } catch {
                // The last address is as good as any.
                guard unknown.insert(peer).inserted else { continue }
                logger.warning(
                    "a device of hint_peer has no address; trying again",
                    metadata: ["host": "\(peer.host)", "error": "\(error)"])
            }
        }
    }

    func send(_ bytes: [UInt8]) async {
        for address in addresses.values {
            guard let channel = await channel(for: address) else { continue }
            HintSocket.send(bytes, to: address, through: channel)
        }
    }

    private func channel(for address: SocketAddress) async -> (any Channel)? {
        let family = address.protocol
        if let known = channels[family] { return known }
        let any = family == .inet6 ? "::" : "0.0.0.0"
        guard let own = try? SocketAddress(ipAddress: any, port: 0), let made = try? await HintSocket.open(at: own)
        else {
            return nil
        }
        channels[family] = made
        return made
    }

    func close() async {
        for channel in channels.values { try? await channel.close() }
        channels = [:]
    }
}

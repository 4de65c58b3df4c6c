import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization

/// The connections of a store, and to the services that give it keys: directly, or through the proxies that the
/// environment names.
final class HTTPTransport: Sendable {
    /// How a server is reached.
    private enum Way: Hashable, Sendable {
        case direct
        /// A tunnel through the proxy, for https.
        case tunnel(ProxySettings.Proxy)
        /// The proxy makes the requests itself, for http.
        case forwarded(ProxySettings.Proxy)
    }

    /// The maximum number of connections to one server; further requests wait for one.
    private static let connectionLimit = 33
    /// The number of clients. The log is polled with one small request each second; with one client, which reuses the
    /// most recent connection, that would keep only one connection open, and a read at that instant would have to wait
    /// for it or for a handshake. In turns three are kept open: for the poll, and for the first bytes of a file and the
    /// header of the sealed pack that they are in, which are requested at the same time.
    private static let clientCount = 3
    /// How long an idle connection is kept: 15 s, less than services keep them.
    private static let idleLimit = TimeAmount.seconds(15)
    /// The maximum size of one read from a connection: 512 KiB. Each passes from the connection's thread to the reader's and
    /// back; twice as many bytes at a time save little more, and every connection holds so much.
    private static let receiveByteCount = 512 << 10

    /// For servers of this machine or beside it, such as metadata services.
    let direct: HTTPClient
    private let proxies: ProxySettings
    private let limits: S3Limits
    /// Why no connection with TLS is possible.
    private let certificateFault: TransportFault?
    private let certificates: TLSConfiguration
    /// At most one entry for each proxy.
    private let clients: Mutex<[Way: [HTTPClient]]>
    private let turns = Atomic<Int>(0)

    /// - Parameter variables: Of the process.
    init(variables: [String: String], limits: S3Limits = S3Limits()) {
        proxies = ProxySettings(variables)
        self.limits = limits
        do throws(TransportFault) {
            certificates = try CertificateRoots(variables).configuration()
            certificateFault = nil
        } catch {
            certificates = .makeClientConfiguration()
            certificateFault = error
        }
        let first = Self.clients(.direct, certificates, limits)
        direct = first[0]
        clients = Mutex([.direct: first])
    }

    /// Closes the connections. Running requests hold a reference, so none is running.
    deinit {
        for client in clients.withLock({ $0.values.flatMap(\.self) }) { client.shutdown { _ in } }
    }

    /// Sends a request, and waits for the head of the response. Redirections are not followed.
    ///
    /// - Throws: ``TransportFault`` when the server cannot be reached as it is set up, and the client's errors.
    func execute(
        _ message: HTTPClientRequest, deadline: NIODeadline = .distantFuture
    ) async throws -> HTTPClientResponse {
        if let fault = WebAddress.fault(of: message.url) { throw TransportFault(fault, isTransient: false) }
        guard let url = URLComponents(string: message.url), let host = url.host else {
            throw TransportFault("the address is invalid", isTransient: false)
        }
        let isPlain = url.scheme == "http"
        if !isPlain, let certificateFault { throw certificateFault }
        let proxy: ProxySettings.Proxy?
        do throws(ProxySettings.Fault) {
            proxy = try proxies.proxy(isPlain: isPlain, host: host.lowercased(), port: url.port)
        } catch {
            throw TransportFault(error.sentence, isTransient: false)
        }
        var message = message
        let way: Way
        switch proxy {
        case nil: way = .direct
        case let proxy? where isPlain:
            way = .forwarded(proxy)
            if !message.headers.contains(name: "host") {
                message.headers.add(name: "host", value: host + (url.port.map { ":\($0)" } ?? ""))
            }
            // The connection is to the proxy; the header says to whom the request is.
            let text = message.url
            let path = text.dropFirst("http://".count).drop { $0 != "/" }
            let proxyHost = proxy.host.contains(":") ? "[\(proxy.host)]" : proxy.host
            message.url = "http://\(proxyHost):\(proxy.port)\(path)"
        case let proxy?: way = .tunnel(proxy)
        }
        return try await client(way).execute(message, deadline: deadline)
    }

    // MARK: - Private

    private func client(_ way: Way) -> HTTPClient {
        let turn = turns.wrappingAdd(1, ordering: .relaxed).oldValue % Self.clientCount
        return clients.withLock { clients in
            if let known = clients[way] { return known[turn] }
            let new = Self.clients(way, certificates, limits)
            clients[way] = new
            return new[turn]
        }
    }

    private static func clients(
        _ way: Way, _ certificates: TLSConfiguration, _ limits: S3Limits
    ) -> [HTTPClient] {
        var configuration = HTTPClient.Configuration()
        configuration.tlsConfiguration = certificates
        configuration.redirectConfiguration = .disallow
        configuration.httpVersion = .http1Only
        configuration.decompression = .disabled
        configuration.timeout = .init(connect: .init(limits.connect))
        configuration.connectionPool = .init(
            idleTimeout: idleLimit, concurrentHTTP1ConnectionsPerHostSoftLimit: connectionLimit / clientCount)
        // Refused connections are retried by us, with known limits.
        configuration.connectionPool.retryConnectionEstablishment = false
        var forwarding: ProxySettings.Proxy?
        switch way {
        case .direct: break
        case .tunnel(let proxy):
            configuration.proxy = .server(
                host: proxy.host, port: proxy.port, authorization: proxy.credentials.map { .basic(credentials: $0) })
        case .forwarded(let proxy): forwarding = proxy
        }
        // This is called a debug initializer, but it is the only way to a channel.
        configuration.http1_1ConnectionDebugInitializer = { [forwarding] channel in
            prepare(channel, limits, forwarding)
        }
        return (0..<clientCount).map { [configuration] _ in
            HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        }
    }

    private static func prepare(
        _ channel: any Channel, _ limits: S3Limits, _ forwarding: ProxySettings.Proxy?
    ) -> EventLoopFuture<Void> {
        channel.eventLoop.flatSubmit {
            do {
                let pipeline = channel.pipeline.syncOperations
                let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
                if let forwarding {
                    try pipeline.addHandler(
                        ForwardedRequests(credentials: forwarding.credentials), position: .after(decoder))
                }
                try pipeline.addHandler(ConnectionWatch(limits), position: .after(decoder))
            } catch {
                return channel.eventLoop.makeFailedFuture(error)
            }
            // Data is read in large pieces, since each passes through many layers.
            return channel.setOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: receiveByteCount))
        }
    }
}

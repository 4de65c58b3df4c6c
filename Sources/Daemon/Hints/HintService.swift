import Foundation
import Logging
import Model
import NIOCore
import Remote
import Replica
import Sealing
import ServiceLifecycle
import Sync

/// Tells other devices of this one's commits, and hears theirs: in the multicast group of the local network, and by datagrams
/// from and to devices that have a name.
///
///     CommitHints ─ announcement → HintDatagram ─┬→ HintGroup
///         ↑                                      └→ HintPeerSockets
///         └─ received ← HintDatagram ← HintReceiver ← group, hint_port
struct HintService: Service {
    let engine: SyncEngine
    /// The container's, which has the key of an encrypted one.
    let store: any ObjectStore
    /// `BUCKET/PREFIX`, or nothing for a directory.
    let place: String
    let options: DaemonOptions.Hints
    let usesGroup: Bool
    let logger: Logger

    /// The least time between two datagrams, so that many commits at once make few: 20 ms.
    private static let spacing = Duration.milliseconds(20)

    private var hints: CommitHints { engine.hints }
    private var sealed: SealedStore? { store as? SealedStore }
    private var key: HintKey { sealed?.hintKey ?? HintKey(ofPlain: engine.container.identity.uuid, at: place) }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            let peers = HintPeerSockets(options.peers, logger: logger)
            await withTaskGroup(of: Void.self) { group in
                // A server of names may take long to answer.
                group.addTask { await peers.resolveNowAndThen() }
                group.addTask { await tell(peers) }
                group.addTask { await listen() }
            }
            await peers.close()
        }
    }

    // MARK: Hearing

    private func received(_ bytes: [UInt8], _ address: String) {
        let now = engine.context.environment.now()
        guard let hint = HintDatagram.decode(bytes, key, now: now), hints.received(hint, from: address) else { return }
        if let fork = sealed?.fork(hint, from: "\(name(of: hint.device)) (\(address))") { engine.noteFork(fork) }
    }

    private func name(of device: DeviceID) -> String {
        (try? engine.replica.read { try $0.deviceName(device) }) ?? device.description
    }

    /// How long until a port that another program has is tried again: 30 s.
    private static let retryInterval = Duration.seconds(30)

    /// Hears devices that have this one's name, until cancelled.
    private func listen() async {
        guard let port = options.port else { return }
        var isReported = false
        repeat {
            if let listener = await listener(at: port) {
                await Signal().wait()
                try? await listener.close()
                return
            }
            if !isReported {
                logger.error(
                    "the port of hint_port cannot be opened: hints are not heard there; trying again",
                    metadata: ["port": "\(port)"])
            }
            isReported = true
        } while (try? await Task.sleep(for: Self.retryInterval)) != nil
    }

    private func listener(at port: Int) async -> (any Channel)? {
        for host in ["::", "0.0.0.0"] {
            guard let address = try? SocketAddress(ipAddress: host, port: port) else { continue }
            do {
                return try await HintSocket.open(at: address) { received($0, $1) }
            } catch {
                // Where there is no IPv6, the other one is opened.
                logger.debug("no socket for hints", metadata: ["host": "\(host)", "error": "\(error)"])
            }
        }
        return nil
    }

    // MARK: Telling

    private func tell(_ peers: HintPeerSockets) async {
        var group: HintGroup?
        var checked: Duration?
        while !Task.isCancelled {
            let count = hints.landedCount
            let now = engine.context.environment.uptime()
            if checked.map({ now - $0 >= CommitHints.aliveInterval }) ?? true {
                checked = now
                group = await renewed(group)
            }
            if let datagram = datagram() {
                group?.send(datagram)
                await peers.send(datagram)
            }
            guard (try? await Task.sleep(for: Self.spacing)) != nil else { break }
            await hints.waitForCommit(since: count)
        }
        await group?.close()
    }

    private func datagram() -> [UInt8]? {
        let hint = hints.announcement()
        return HintDatagram.encode(
            CommitHint(
                device: hint.device, number: hint.number, time: hint.time, hash: sealed?.hash(ofCommit: hint.number)),
            key)
    }

    /// The group, in the networks that this machine has now.
    private func renewed(_ group: HintGroup?) async -> HintGroup? {
        guard usesGroup else { return nil }
        if let group {
            if group.networks == HintGroup.networks() { return group }
            await group.close()
        }
        do {
            let opened = try await HintGroup.open(logger: logger) { received($0, $1) }
            hints.unavailable = nil
            logger.debug("telling devices of commits", metadata: ["networks": "\(opened.networks.map(\.name))"])
            return opened
        } catch {
            if hints.unavailable == nil {
                logger.info(
                    "devices in the local network cannot be told of commits; trying again",
                    metadata: ["error": "\(error)"])
            }
            hints.unavailable = "\(error)"
            return nil
        }
    }
}

import Coordination
import Glibc
import Logging
import Model
import Remote
import Sync
import Synchronization

/// The clients of the lock table: the programs behind the control API, and the engine itself. Passes their requests to
/// the table, and its decisions to them.
package final class Claims: Sendable {
    /// The most sessions at a time.
    static let clientLimit = 1024
    /// The interval at which the process of a presenter that owes an answer is checked for having been stopped.
    static let stopPause = Duration.seconds(1)
    /// How long the clients of a daemon that was killed have to come back before their claims end: as reclaiming in
    /// NFS (RFC 8881, section 8.4.2.1), but nobody waits who does not want what they hold.
    package static let grace = Duration.seconds(2)
    /// The client and purpose of the engine's own claims and presenters.
    static let ownClient = ClientID(0)
    static let ownPurpose = PurposeID("dewpoint")

    struct Client: Sendable {
        let process: ProcessID
        let deliver: @Sendable (SessionEvent) -> Void
        /// Whether its process may not download by reading.
        let withholdsDownloads: Bool
        var watch: HolderWatch?
        /// Keyed by the client's own names for its claims.
        var claims: [UInt64: ClaimSetID] = [:]
        var presenters: [UInt64: PresenterID] = [:]
    }

    enum Owner: Sendable {
        case client(ClientID, UInt64)
        case engine(CheckedContinuation<ClaimEnd?, Never>)
        /// A claim of the engine's own that was granted.
        case held
    }

    struct State {
        var clients: [ClientID: Client] = [:]
        var owners: [ClaimSetID: Owner] = [:]
        var presenters: [PresenterID: (client: ClientID, name: UInt64)] = [:]
        /// Downloads that are to begin: at most one for each claim.
        var newDownloads: [ClaimDownload] = []
        /// Raising one cancels the download.
        var downloads: [ClaimSetID: Signal] = [:]
        /// Those of the daemon before, which was killed while they held claims.
        var absent: Set<ClientID> = []
        var lastClient: UInt64 = 0
        var lastSet: UInt64 = 0
        var lastPresenter: UInt64 = 0
    }

    let state = Mutex(State())
    let lockManager: LockManager
    let places: ItemResolver
    let downloadRules: DownloadRules
    let environment: EngineEnvironment
    let logger: Logger
    let bytes: ClaimBytes
    private let questions = Signal()

    init(
        _ context: SyncContext, lockManager: LockManager, places: ItemResolver, downloadRules: DownloadRules,
        bytes: ClaimBytes
    ) {
        self.lockManager = lockManager
        self.places = places
        self.downloadRules = downloadRules
        self.bytes = bytes
        environment = context.environment
        logger = context.logger
    }

    /// Carries out what the table decides about claims, until cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.watchForStops() }
            group.addTask { await self.endGrace() }
            await lockManager.claimEffects.run {
                carryOut($0)
            } afterwards: {
                for download in takeDownloads() { group.addTask { await self.run(download) } }
            }
            group.cancelAll()
        }
    }

    // MARK: Effects

    /// An event that a client waits for: its effects are carried out at once.
    func change<Value, Failure: Error>(
        _ event: (inout LockManager.State, Instant) throws(Failure) -> (Value, [Effect])
    ) throws(Failure) -> Value {
        let value = try lockManager.change(event)
        lockManager.claimEffects.carryOut { carryOut($0) }
        return value
    }

    func carryOut(_ effect: ClaimEffect) {
        switch effect {
        case .locate(let inodes): locate(inodes)
        case .ask(let asked):
            questions.raise()
            deliver(to: asked.presenter) { name in
                .ask(
                    PresenterQuestion(
                        question: asked.id.rawValue, presenter: name, message: asked.message.method,
                        path: asked.message.subitem.map { places.path($0) }))
            }
        case .unresponsive(let asked):
            logger.warning(
                "a presenter does not respond",
                metadata: ["process": "\(name(ofPresenter: asked.presenter))", "asked": "\(asked.message.method)"])
        case .reacquire(let presenter, let asked):
            deliver(to: presenter) { .reacquire(presenter: $0, question: asked.rawValue) }
        case .download(let set, let items): requestDownload(of: items, for: set)
        case .granted(let set): granted(set)
        case .ended(let set, let end): ended(set, end)
        case .deadlock(let links):
            logger.warning("deadlock among claims", metadata: ["cycle": "\(description(of: links))"])
        }
    }

    private func locate(_ inodes: [InodeNumber]) {
        var found: [InodeNumber: ClaimItem] = [:]
        for inode in inodes {
            do throws(FileError) {
                found[inode] = try places.item(inode)
            } catch {
                // Deleted since: no later claim can refer to it.
                found[inode] = ClaimItem(orphan: inode)
            }
        }
        let places = found
        lockManager.perform { table, now in table.located(places, now: now) }
    }

    private func granted(_ set: ClaimSetID) {
        let owner = state.withLock { state -> (Owner, (@Sendable (SessionEvent) -> Void)?)? in
            state.downloads[set] = nil
            guard let owner = state.owners[set] else { return nil }
            switch owner {
            case .client(let client, _): return (owner, state.clients[client]?.deliver)
            case .engine:
                state.owners[set] = .held
                return (owner, nil)
            case .held: return nil
            }
        }
        switch owner {
        case (.client(_, let name), let deliver?)?:
            let items = lockManager.ask { $0.claimSet(set) }?.claims.map(\.item) ?? []
            // Not those of the request: an item whose directory was renamed meanwhile is still the same item.
            deliver(.granted(claim: name, id: set.rawValue, paths: items.map { places.path($0) }))
        case (.engine(let continuation), _)?:
            continuation.resume(returning: nil)
        case (.client, nil)?, (.held, _)?, nil:
            break
        }
    }

    private func ended(_ set: ClaimSetID, _ end: ClaimEnd) {
        let owner = state.withLock { state -> (Owner, (@Sendable (SessionEvent) -> Void)?)? in
            state.downloads.removeValue(forKey: set)?.raise()
            guard let owner = state.owners.removeValue(forKey: set) else { return nil }
            if case .client(let client, let name) = owner {
                state.clients[client]?.claims[name] = nil
                return (owner, state.clients[client]?.deliver)
            }
            return (owner, nil)
        }
        switch owner {
        case (.client(_, let name), let deliver?)?: deliver(.ended(ClaimEnded(claim: name, end, naming: self.name)))
        case (.engine(let continuation), _)?: continuation.resume(returning: end)
        case (.client, nil)?, (.held, _)?, nil: break
        }
    }

    private func deliver(to presenter: PresenterID, _ event: (UInt64) -> SessionEvent) {
        let target = state.withLock { state -> (UInt64, @Sendable (SessionEvent) -> Void)? in
            guard let (client, name) = state.presenters[presenter], let deliver = state.clients[client]?.deliver else {
                return nil
            }
            return (name, deliver)
        }
        if let (name, deliver) = target { deliver(event(name)) }
    }

    /// Sends notices to presenters.
    func notify(_ notices: [(presenter: PresenterID, notice: PresenterNotice)]) {
        for (presenter, notice) in notices {
            deliver(to: presenter) { PresenterNews(presenter: $0, notice, places).event }
        }
    }

    // MARK: Stopped processes

    /// A stopped process cannot answer: the table gives its presenters a grace period instead of waiting for it.
    private func watchForStops() async {
        while !Task.isCancelled {
            let (owing, stopped) = lockManager.ask { ($0.processesToAnswer, $0.stoppedProcesses) }
            if owing.isEmpty, stopped.isEmpty {
                guard await questions.wait() else { return }
                continue
            }
            for process in owing.union(stopped) {
                let isStopped = ProcessTable.isStopped(process.rawValue)
                guard isStopped != stopped.contains(process) else { continue }
                lockManager.perform { table, now in
                    if isStopped { return table.processStopped(process, now: now) }
                    table.processContinued(process)
                    return []
                }
            }
            guard (try? await environment.sleep(Self.stopPause)) != nil else { return }
        }
    }

    // MARK: Names for people

    private func description(of links: [WaitLink]) -> String {
        (links + links.prefix(1)).map { link in
            let process = lockManager.ask { $0.process(of: link.waiter) }.map { Self.describe($0) } ?? ""
            return switch link.waiter {
            case .claims(let set): "claim \(set.rawValue) of \(process)"
            case .presenter: "presenter of \(process)"
            case .process: process
            case .nameChange: "rename or removal by \(process)"
            case .writes(let inode): "writes to \(inode)"
            }
        }.joined(separator: " waits for ")
    }

    private func name(ofPresenter presenter: PresenterID) -> String {
        lockManager.ask { $0.presenter(presenter) }.map { Self.describe($0.process) } ?? "a presenter that has exited"
    }

    /// The description of a node that `ended` names.
    private func name(of node: WaitNode) -> String {
        lockManager.ask { $0.process(of: node) }.map { Self.describe($0) } ?? "a process that has exited"
    }

    /// For example `vim(812)`.
    static func describe(_ process: ProcessID) -> String {
        process.rawValue == getpid()
            ? "dewpoint's sync" : "\(ProcessTable.command(of: process.rawValue))(\(process.rawValue))"
    }
}

extension PresenterMessage {
    fileprivate var subitem: ClaimItem? {
        if case .accommodateSubitemDeletion(let item) = self { item } else { nil }
    }
}

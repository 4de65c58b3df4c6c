import Control
import FileSystem
import Glibc
import Model
import Replica
import VirtualTime

/// Claims and presenters: what a program of the Ubiquity library does, through the control API.
extension Program {
    // MARK: Sessions

    private mutating func openSession() throws -> (SimulatedClient, SessionID) {
        if let client, let session = client.session { return (client, session) }
        let opened = try SimulatedClient(device, label: label, process: process, fileSystem: try fileSystem)
        client = opened
        guard let session = opened.session else { throw Violation("\(label): a session is over at once") }
        world.trace.note("\(label) opens a session")
        return (opened, session)
    }

    mutating func endSession() {
        client?.end()
        client = nil
    }

    // MARK: Presenters

    /// How many presenters a program has at most.
    private static let presenterLimit = 3

    mutating func present() throws {
        let (client, session) = try openSession()
        let place = try taken([.file, .file, .directory]).0
        if let oldest = client.presenters.first, client.presenters.count >= Self.presenterLimit {
            try client.withdraw(oldest)
        }
        let presenter = SimulatedPresenter(
            name: client.newName(), behaviour: random.pick(SimulatedPresenter.Behaviour.all))
        let all = PresenterMethod.allCases
        let methods = random.happens(0.7) ? all : all.filter { _ in random.happens(0.5) }
        world.trace.note("\(label) presents \(place) as \(presenter.name), \(presenter.behaviour)")
        client.add(presenter)
        try fileSystem.claims.present(
            PresenterRequest(presenter: presenter.name, path: "\(place)", methods: methods), from: session)
    }

    mutating func withdraw() throws {
        guard let client, !client.presenters.isEmpty else { throw FileError(.notFound, "nothing is presented") }
        try client.withdraw(random.pick(client.presenters))
    }

    // MARK: Claims

    private static let readingOptions = [
        [], [], ["withoutChanges"], ["immediatelyAvailableMetadataOnly"], ["forUploading"], ["resolvesSymbolicLink"],
    ]
    private static let writingOptions = [
        "plain", "plain", "plain", "forMerging", "forMoving", "forDeleting", "forReplacing",
        "contentIndependentMetadataOnly",
    ]

    mutating func claimToRead() async throws {
        let options = random.pick(Self.readingOptions)
        var items = [ClaimRequest.Item("\(try taken().0)", reading: options)]
        if random.happens(0.2) { items.append(.init("\(try taken().0)", reading: [])) }
        try await hold(try await obtain(items)) { program, place in
            guard !options.contains("immediatelyAvailableMetadataOnly") else { return }
            try await program.readClaimed(place)
        }
    }

    mutating func claimToWrite() async throws {
        guard !(world.scenario.hasOneWriter && device.number > 0) else { return try await claimToRead() }
        let option = random.pick(Self.writingOptions)
        let place = random.happens(0.1) ? try place(existing: 0) : try taken().0
        var items = [ClaimRequest.Item("\(place)", writing: option)]
        if random.happens(0.2) { items.append(.init("\(try taken([.file]).0)", writing: "plain")) }
        let claim = try await obtain(items)
        try await hold(claim) { program, place in
            try await program.work(at: place, claimed: place.name == items[0].name ? option : "plain")
        }
    }

    /// Prepares for several items, then claims one after the other.
    mutating func claimBatch() async throws {
        let isReader = world.scenario.hasOneWriter && device.number > 0
        var items: [ClaimRequest.Item] = []
        for _ in 0..<random.number(1...3) {
            let path = "\(try taken([.file]).0)"
            items.append(isReader || random.happens(0.5) ? .init(path, reading: []) : .init(path, writing: "plain"))
        }
        let batch = try await obtain(items, mode: .batch)
        do {
            for item in items {
                try await hold(try await obtain([item], within: batch)) { program, place in
                    if item.writing == nil { return try await program.readClaimed(place) }
                    try await program.work(at: place, claimed: "plain")
                }
            }
        } catch {
            try release(batch)
            throw error
        }
        try release(batch)
    }

    /// Requests a claim and waits for it; sometimes not long enough.
    ///
    /// - Returns: The client's number for the claim, which is granted.
    private mutating func obtain(
        _ items: [ClaimRequest.Item], mode: ClaimRequest.Mode = .access, within outer: UInt64? = nil
    ) async throws -> UInt64 {
        let (client, session) = try openSession()
        var request = ClaimRequest(claim: client.newName(), items: items)
        request.mode = mode
        request.within = outer.map { [$0] }
        if random.happens(0.1) { request.purpose = "sharing" }
        if random.happens(0.2) { request.presenter = client.presenters.first }
        if random.happens(0.25) { request.timeoutSeconds = Double(random.number(1...600)) / 10 }
        let limit = random.happens(0.15) ? random.milliseconds(0...20_000) : nil
        world.trace.note("\(label) claims \(request)")
        client.add(request)
        do { try fileSystem.claims.request(request, from: session) } catch {
            client.forget(request.claim)
            throw error
        }
        var outcome = try await wait(for: request.claim, of: client, limit: limit)
        var isCancelled = false
        if outcome == .interrupted, !isCutOff, client.session != nil {
            guard limit != nil else {
                throw Violation("\(label): claim \(request.claim) waits for ever: \(try fileSystem.locks())")
            }
            isCancelled = true
            // It may have ended in this very moment.
            try? fileSystem.claims.cancel(request.claim, of: session)
            outcome = try await wait(for: request.claim, of: client, limit: nil)
        }
        switch outcome {
        case .granted: return request.claim
        case .interrupted: throw FileError(.interrupted, "the session or the daemon ended")
        case .ended(let end):
            let isExpected =
                switch end.reason {
                case .timedOut: request.timeoutSeconds != nil
                case .presenter, .download: true
                case .cancelled: isCancelled
                case .revoked, .deadlock, .invalid: false
                }
            guard isExpected else { throw Violation("\(label): claim \(request.claim) ends for no reason: \(end)") }
            throw FileError(end.code, end.message)
        }
    }

    private func wait(
        for claim: UInt64, of client: SimulatedClient, limit: Duration?
    ) async throws -> SimulatedClient.Outcome {
        try await device.value(limit: limit) { () async throws(FileError) in await client.outcome(of: claim) }
    }

    /// Works on each item of a granted claim, and ends the claim: by releasing it, sometimes with the session.
    private mutating func hold(
        _ claim: UInt64, _ work: (inout Program, ResolvedPath) async throws -> Void
    ) async throws {
        do {
            for path in client?.paths(of: claim) ?? [] where !path.isEmpty {
                if random.happens(0.5) { try await world.clock.sleep(random.milliseconds(0...3000)) }
                try checkClaims()
                try await work(&self, try place(at: path))
            }
        } catch {
            try release(claim)
            throw error
        }
        if random.happens(0.05) { endSession() } else { try release(claim) }
    }

    private func release(_ claim: UInt64) throws {
        guard let client, let session = client.session, !isCutOff else { return }
        try checkClaims()
        device.programs.claims.end(claim, of: label)
        client.forget(claim)
        try fileSystem.claims.release(claim, of: session)
    }

    // MARK: Work under a claim

    private func place(at path: String) throws -> ResolvedPath {
        let found = try fileSystem.replica.read { try $0.resolvedPath(at: path) }
        guard let name = found.name, let parent = found.directories.last?.inode else {
            throw FileError(.notFound, "the root has no name")
        }
        return try place(name, in: parent, path: String(Substring(path.utf8.dropLast(name.string.utf8.count))))
    }

    private mutating func work(at place: ResolvedPath, claimed option: String) async throws {
        switch (option, place.attributes?.kind) {
        case ("contentIndependentMetadataOnly", let kind?):
            guard kind != .symbolicLink, let number = place.attributes?.inode else { return }
            let mode = random.pick([0o600, 0o644, 0o755, 0o700] as [UInt16])
            _ = try fileSystem.setAttributes(of: number, AttributeChange(mode: mode), by: caller)
        case ("forDeleting", .directory?): try await removeDirectory(place)
        case ("forDeleting", _?): try await remove(place)
        case ("forMoving", _?): try await moveClaimed(place)
        case ("forReplacing", .file?), ("forReplacing", nil), ("plain", nil): try await save(place)
        case (_, .file?):
            switch random.number(0...4) {
            case 0: try await empty(place)
            case 1: try await save(place)
            case 2: try await moveClaimed(place)
            default: try await overwrite(place)
            }
        default: break
        }
    }

    /// Moves an item that is claimed, and goes on writing to it.
    private mutating func moveClaimed(_ place: ResolvedPath) async throws {
        let target = try self.place(existing: 0)
        try await move(place, to: target, mode: .noReplace)
        guard place.attributes?.kind == .file, random.happens(0.5) else { return }
        try await overwrite(try self.place(target.name, in: target.parent, path: target.directory))
    }

    private mutating func readClaimed(_ place: ResolvedPath) async throws {
        guard place.attributes?.kind == .file, let number = place.attributes?.inode else { return }
        let file = try await open(number, O_RDONLY)
        do {
            let bytes = try await device.read(file.handle, of: try fileSystem, by: caller)
            try checkClaims()
            if client?.session != nil, !isCutOff {
                let (content, shown) = (try FileContent(bytes: bytes), try device.content(of: number))
                guard content == shown || !device.programs.claims.claims(of: label).contains(where: \.isExclusive)
                else {
                    throw Violation("\(label) reads \(content) from \(place) under a claim, which shows \(shown)")
                }
            }
        } catch {
            try await close(file)
            throw error
        }
        try await close(file)
    }

    // MARK: Checks

    /// Checks that nobody else changed what this program has claimed.
    func checkClaims() throws {
        guard world.scenario.hasClaims, !isCutOff else { return }
        try device.programs.claims.check(label, on: device)
    }

    /// The claims of other programs that a change must wait for.
    func claimsConcerned(by sight: Sight, of number: InodeNumber?) throws -> [HeldClaims.Claim] {
        guard world.scenario.hasClaims, !isCutOff else { return [] }
        let claims = device.programs.claims
        if let number = number ?? sight.copy { return try claims.others(of: label, changing: number, on: device) }
        return try zip([sight.moved, sight.replaced].compactMap(\.self), sight.places).flatMap { attributes, place in
            try claims.others(
                of: label, moving: attributes.inode, named: place.name, in: place.parent, on: device)
        }
    }

    /// Checks that a change which has just happened, and began at `start`, ignored no claim.
    func noteClaims(_ sight: Sight, _ number: InodeNumber?, since start: Duration) throws {
        guard world.scenario.hasClaims, !isCutOff else { return }
        let claims = device.programs.claims
        for claim in sight.concerned {
            guard number != nil || sight.copy != nil, start + HeldClaims.patience <= claim.granted else {
                throw Violation("\(label) changes what \(claim.holder) has claimed with claim \(claim.name)")
            }
            try claims.refresh(claim.holder, on: device)
        }
        try claims.refresh(label, on: device)
    }
}

extension ClaimRequest.Item {
    /// The last component of its path.
    fileprivate var name: ItemName? { ItemPath(path).last.flatMap { try? ItemName(String($0)) } }
}

import Coordination
import Model
import SeededRandomness
import Testing

/// One random run of claims, presenters, plain writers and name changes, with a stand-in for the engine and a model
/// of the guarantees.
struct ClaimRun {
    private static let items: [ClaimItem] = [
        document, stranger, deepDocument, folder, innerFolder, package, packageFile, nestedFile,
        plainFile(nil, in: [root, InodeNumber(20)], "new"),
    ]
    private static let files = [document, stranger, deepDocument, packageFile]
    private static let processes = (Int32(1)...4).map { ProcessID($0) }

    private var random: SeededGenerator
    private var table: LockTable
    private var now = Instant.ms(0)
    private var lastSet: UInt64 = 0
    private var lastTicket: UInt64 = 0
    /// Sets that were requested and have neither ended nor been released, in order.
    private var sets: [ClaimSet] = []
    private var granted: Set<ClaimSetID> = []
    /// Sets that are gone, with the number of the last set that was requested before.
    private var past: [(set: ClaimSet, during: UInt64)] = []
    private var requested: [ClaimSetID: Instant] = [:]
    private var downloads: [ClaimSetID] = []
    private var toLocate: [InodeNumber] = []
    private var questions: [Question] = []
    private var presenters: Set<PresenterID> = []
    private var names: [Ticket: NameChange] = [:]
    private var namesUnderWay: Set<Ticket> = []
    private struct Open: Equatable {
        let inode: InodeNumber
        let writer: Writer
    }

    /// The handles of plain programs: open for writing, being written, and waiting to open or write.
    private var open: [Open] = []
    private var inFlight: [Open] = []
    private var parkedOpens: [Ticket: Open] = [:]
    private var parkedWrites: [Ticket: Open] = [:]
    /// All answers of the table, in order.
    private(set) var transcript: [String] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        var limits = LockTable.Limits(quiet: .milliseconds(50), turn: .milliseconds(300))
        limits.claims.presenterTimeout = .milliseconds(500)
        limits.claims.patience = [.wait, .fail, .skip][Int(seed % 3)]
        limits.claims.refusesDeadlocks = seed % 2 == 0
        table = LockTable(limits: limits)
    }

    mutating func step() throws {
        now = now + .milliseconds(Int.random(in: 0...20, using: &random))
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<14: try request()
        case 14..<28: releaseOne()
        case 28..<36: answerOne()
        case 36..<44: downloadOne()
        case 44..<50: locateAll()
        case 50..<56: openOne()
        case 56..<62: write()
        case 62..<72: finishOne()
        case 72..<78: closeOne()
        case 78..<83: changeName()
        case 83..<87: nameChanged()
        case 87..<90: cancelOne()
        case 90..<93: try changePresenters()
        case 93: die()
        default: perform(table.timePassed(now: now))
        }
        check()
    }

    /// Without new events, everything that was begun must end within a bounded number of rounds.
    mutating func converge() {
        var rounds = 0
        while !(sets.isEmpty && names.isEmpty && hasNobodyParked && inFlight.isEmpty), rounds < 3000 {
            rounds += 1
            if !toLocate.isEmpty {
                locateAll()
            } else if !inFlight.isEmpty {
                finishOne()
            } else if !questions.isEmpty {
                answerOne()
            } else if !downloads.isEmpty {
                downloadOne()
            } else if !namesUnderWay.isEmpty {
                nameChanged()
            } else if let deadline = table.nextDeadline, deadline <= now + .milliseconds(400) {
                now = max(now, deadline)
                perform(table.timePassed(now: now))
            } else if !granted.isEmpty {
                releaseOne()
            } else {
                break
            }
            check()
        }
        #expect(sets.isEmpty, "somebody waits for ever for a claim")
        #expect(names.isEmpty, "somebody waits for ever to change a name")
        #expect(hasNobodyParked && inFlight.isEmpty, "somebody waits for ever to write")
    }

    private var hasNobodyParked: Bool { parkedOpens.isEmpty && parkedWrites.isEmpty }

    mutating func everybodyLeaves() {
        while !open.isEmpty { closeOne() }
        for process in Self.processes { perform(table.processDied(process, now: now)) }
        #expect(table.isEmpty)
        #expect(table.snapshot(now: now) == [])
        #expect(table.processes == [])
        #expect(table.nextDeadline == nil)
    }
}

extension ClaimRun {
    private func pick<Element>(_ all: [Element], _ random: inout SeededGenerator) -> Element {
        all[Int.random(in: 0..<all.count, using: &random)]
    }

    private mutating func request() throws {
        lastSet += 1
        let process = pick(Self.processes, &random)
        let mode: ClaimSet.Mode = [.access, .access, .access, .access, .batch, .eviction][
            Int.random(in: 0..<6, using: &random)]
        let count = mode == .eviction ? 1 : Int.random(in: 1...3, using: &random)
        let pairs = (0..<count).map { _ -> (AccessKind, ClaimItem) in
            let kinds = mode == .batch ? [.read([]), .write(.plain), .write(.forMoving)] : allKinds
            let kind = mode == .eviction ? .write(.forDeleting) : pick(kinds, &random)
            return (kind, pick(Self.items, &random))
        }
        let presenter = presenters.sorted().first { $0.rawValue % 4 == UInt64(process.rawValue) % 4 }
        let set = claims(
            lastSet, pairs, by: process,
            coordinator: "c\(process.rawValue)-\(Int.random(in: 0..<3, using: &random))",
            purpose: Int.random(in: 0..<5, using: &random) == 0 ? "shared" : nil, presenter: presenter, mode: mode,
            deadline: Int.random(in: 0..<4, using: &random) == 0 ? now + .milliseconds(200) : nil)
        sets.append(set)
        requested[set.id] = now
        perform(try table.request(set, now: now))
    }

    private mutating func releaseOne() {
        let ids = granted.sorted { $0.rawValue < $1.rawValue }
        guard let id = ids.randomElement(using: &random) else { return }
        forget(id)
        let revoked = Int.random(in: 0..<10, using: &random) == 0
        let effects = revoked ? table.revoke(id, now: now) : table.release(id, now: now)
        perform(effects.filter { $0 != .ended(id, .revoked) })
    }

    private mutating func cancelOne() {
        guard let set = sets.filter({ !granted.contains($0.id) }).randomElement(using: &random) else { return }
        if Bool.random(using: &random) {
            perform(table.cancelClaims(set.id, now: now))
            #expect(!sets.contains { $0.id == set.id }, "cancelled, and still there")
        } else if let ticket = names.keys.filter({ !namesUnderWay.contains($0) })
            .sorted(by: { $0.rawValue < $1.rawValue }).randomElement(using: &random)
        {
            perform(table.cancel(ticket, now: now))
            #expect(names[ticket] == nil)
        }
    }

    private mutating func answerOne() {
        guard let index = questions.indices.randomElement(using: &random) else { return }
        let question = questions.remove(at: index)
        let answers: [PresenterAnswer] = [.done, .done, .done, .willReacquire, .failed("no")]
        perform(table.answered(question.id, pick(answers, &random), now: now))
    }

    private mutating func downloadOne() {
        guard let index = downloads.indices.randomElement(using: &random) else { return }
        let set = downloads.remove(at: index)
        if Int.random(in: 0..<10, using: &random) == 0 {
            perform(table.downloadFailed(set, FileError(.offline, ""), now: now))
        } else {
            perform(table.downloaded(set, now: now))
        }
    }

    private mutating func locateAll() {
        guard !toLocate.isEmpty else { return }
        let places = toLocate.map { inode in (inode, Self.files.first { $0.inode == inode }!) }
        toLocate = []
        perform(table.located(Dictionary(places) { first, _ in first }, now: now))
    }

    private func context(_ inode: InodeNumber, _ process: ProcessID) -> WriterContext {
        WriterContext(item: Self.files.first { $0.inode == inode }!, ancestors: [process])
    }

    private mutating func openOne() {
        lastTicket += 1
        let ticket = Ticket(lastTicket)
        let inode = pick(Self.files, &random).inode!
        let writer = Writer(process: pick(Self.processes, &random), handle: OpenHandleID(lastTicket))
        let isRewriting = Bool.random(using: &random)
        var verdict = table.open(ticket, inode, by: writer, isRewriting: isRewriting, now: now)
        if verdict == .unplaced {
            verdict = table.open(
                ticket, inode, by: writer, isRewriting: isRewriting, now: now,
                context: context(inode, writer.process))
        }
        transcript.append("\(verdict)")
        let handle = Open(inode: inode, writer: writer)
        switch verdict {
        case .proceed: open.append(handle)
        case .parked: parkedOpens[ticket] = handle
        case .refused, .unplaced: Issue.record("neither may be: \(verdict)")
        }
    }

    private mutating func write() {
        let idle = open.filter { handle in
            !inFlight.contains(handle) && !parkedWrites.values.contains(handle)
        }
        guard let handle = idle.randomElement(using: &random) else { return }
        lastTicket += 1
        let ticket = Ticket(lastTicket)
        var verdict = table.write(ticket, handle.inode, by: handle.writer, now: now)
        if verdict == .unplaced {
            verdict = table.write(
                ticket, handle.inode, by: handle.writer, now: now,
                context: context(handle.inode, handle.writer.process))
        }
        transcript.append("\(verdict)")
        switch verdict {
        case .proceed: begin(handle)
        case .parked: parkedWrites[ticket] = handle
        case .refused, .unplaced: Issue.record("neither may be: \(verdict)")
        }
    }

    private mutating func begin(_ handle: Open) {
        inFlight.append(handle)
        let write = Claim(.write(.plain), Self.files.first { $0.inode == handle.inode }!)
        for set in sets where granted.contains(set.id) && set.mode == .access {
            guard set.process != handle.writer.process, !isShared(set, handle.writer.process) else { continue }
            // A claim requested while the file was open but not yet located may be granted only afterwards.
            #expect(
                !set.claims.contains { ClaimMatrix.waits(new: write, earlier: $0) }, "wrote what others have claimed")
        }
    }

    private mutating func finishOne() {
        guard let index = inFlight.indices.randomElement(using: &random) else { return }
        let handle = inFlight.remove(at: index)
        perform(table.finished(handle.inode, by: handle.writer, byteCount: 1, now: now))
    }

    private mutating func closeOne() {
        let idle = open.indices.filter { index in
            !inFlight.contains(open[index]) && !parkedWrites.values.contains(open[index])
        }
        guard let index = idle.randomElement(using: &random) else { return }
        let handle = open.remove(at: index)
        perform(table.handleClosed(handle.inode, handle.writer.handle!, now: now))
    }

    private mutating func changeName() {
        lastTicket += 1
        let process = pick(Self.processes, &random)
        let change = NameChange(
            Ticket(lastTicket), of: [pick(Self.items, &random)], by: process, ancestors: [],
            deadline: Bool.random(using: &random) ? now + .milliseconds(300) : nil)
        let hasSets = !sets.isEmpty
        let (verdict, effects) = table.nameChange(change, now: now)
        transcript.append("\(verdict)")
        if verdict == .parked || hasSets { names[change.ticket] = change }
        if verdict == .proceed, hasSets { begin(change) }
        perform(effects)
    }

    private mutating func nameChanged() {
        let tickets = namesUnderWay.sorted { $0.rawValue < $1.rawValue }
        guard let ticket = tickets.randomElement(using: &random) else { return }
        namesUnderWay.remove(ticket)
        names[ticket] = nil
        perform(table.nameChanged(ticket, now: now))
    }

    private mutating func changePresenters() throws {
        let number = UInt64.random(in: 1...8, using: &random)
        if presenters.remove(PresenterID(number)) != nil {
            questions.removeAll { $0.presenter.rawValue == number }
            perform(table.unregister(PresenterID(number), now: now))
        } else {
            presenters.insert(PresenterID(number))
            try table.register(
                presenter(
                    number, of: pick(Self.items, &random),
                    methods: number % 3 == 0 ? [.save] : Set(PresenterMethod.allCases),
                    process: ProcessID(Int32(number % 4 + 1))))
        }
    }

    private mutating func die() {
        let process = pick(Self.processes, &random)
        for id in presenters where Int32(id.rawValue % 4 + 1) == process.rawValue {
            presenters.remove(id)
            questions.removeAll { $0.presenter == id }
        }
        for (ticket, change) in names where change.process == process && namesUnderWay.contains(ticket) {
            namesUnderWay.remove(ticket)
            names[ticket] = nil
        }
        perform(table.processDied(process, now: now))
        #expect(!parkedOpens.values.contains { $0.writer.process == process }, "a dead process waits to open")
        #expect(!sets.contains { $0.process == process }, "a dead process has claims")
        #expect(!names.values.contains { $0.process == process }, "a dead process waits")
    }

    private mutating func forget(_ id: ClaimSetID) {
        if let set = sets.first(where: { $0.id == id }) { past.append((set, lastSet)) }
        sets.removeAll { $0.id == id }
        granted.remove(id)
        downloads.removeAll { $0 == id }
    }

    private mutating func begin(_ change: NameChange) {
        namesUnderWay.insert(change.ticket)
        for set in sets where granted.contains(set.id) && set.mode == .access {
            #expect(set.process == change.process || !concerns(change, set) || isShared(set, change.process))
        }
    }

    /// Whether the process has a claim that never waits for this set, and so has the same access as the set's own.
    private func isShared(_ set: ClaimSet, _ process: ProcessID) -> Bool {
        sets.contains { $0.process == process && $0.mode == .access && isExempt($0, set) }
    }

    private func concerns(_ change: NameChange, _ set: ClaimSet) -> Bool {
        change.items.contains { item in
            set.claims.contains { ClaimMatrix.waits(new: Claim(.write(.forMoving), item), earlier: $0) }
        }
    }

    private func isExempt(_ left: ClaimSet, _ right: ClaimSet) -> Bool {
        left.coordinator == right.coordinator || left.purpose == right.purpose
    }

    /// Whether a set had to wait, perhaps for one that waited, for a set that never waits for `set`.
    private func waited(_ other: ClaimSet, forCompanionOf set: ClaimSet) -> Bool {
        let all = sets + past.filter { $0.during >= set.id.rawValue }.map(\.set)
        var reached = [other]
        var index = 0
        while index < reached.count {
            let next = reached[index]
            index += 1
            for candidate in all where candidate.mode == .access && conflict(next, candidate) {
                guard !isExempt(next, candidate), candidate.id != set.id else { continue }
                if isExempt(candidate, set) { return true }
                if !reached.contains(where: { $0.id == candidate.id }) { reached.append(candidate) }
            }
        }
        return false
    }

    private func conflict(_ left: ClaimSet, _ right: ClaimSet) -> Bool {
        left.claims.contains { new in right.claims.contains { ClaimMatrix.waits(new: new, earlier: $0) } }
    }

    private mutating func perform(_ effects: [Effect]) {
        for effect in effects {
            transcript.append("\(effect)")
            switch effect {
            case .wake(let ticket, let reason):
                if let handle = parkedOpens.removeValue(forKey: ticket) {
                    if reason == .granted { open.append(handle) }
                    continue
                }
                if let handle = parkedWrites.removeValue(forKey: ticket) {
                    if reason == .granted { begin(handle) }
                    continue
                }
                guard let change = names[ticket], !namesUnderWay.contains(ticket) else {
                    Issue.record("woken twice, or never parked")
                    continue
                }
                if reason == .granted { begin(change) } else { names[ticket] = nil }
            case .claim(let effect): perform(effect)
            }
        }
    }

    private mutating func perform(_ effect: ClaimEffect) {
        switch effect {
        case .locate(let inodes): toLocate += inodes
        case .ask(let question):
            #expect(presenters.contains(question.presenter))
            questions.append(question)
        case .unresponsive, .reacquire, .deadlock: break
        case .download(let set, _): downloads.append(set)
        case .granted(let id):
            guard let set = sets.first(where: { $0.id == id }), granted.insert(id).inserted else {
                Issue.record("granted twice, or never requested")
                return
            }
            checkGrant(of: set)
        case .ended(let id, _):
            #expect(sets.contains { $0.id == id }, "ended twice")
            forget(id)
        }
    }

    private func checkGrant(of set: ClaimSet) {
        guard set.mode != .batch else { return }
        for other in sets where other.id != set.id && other.mode == .access && conflict(set, other) {
            guard !isExempt(set, other) else { continue }
            #expect(!granted.contains(other.id), "two hold what cannot be held together")
            // Only a presenter that is being asked may overtake, in order to save, and a companion of a set that the
            // other one waited for.
            #expect(
                other.id.rawValue > set.id.rawValue || set.presenter != nil || waited(other, forCompanionOf: set),
                "an earlier one was overtaken")
        }
        guard set.mode == .access else { return }
        // Until it has waited for 300 ms, a claim is not granted in the middle of another process's write.
        for handle in inFlight where handle.writer.process != set.process && !isShared(set, handle.writer.process) {
            guard now - requested[set.id, default: now] < .milliseconds(300) else { continue }
            let item = Self.files.first { $0.inode == handle.inode }!
            let write = Claim(.write(.plain), item)
            #expect(
                !set.claims.contains { ClaimMatrix.waits(new: write, earlier: $0) }, "granted in the middle of a write")
        }
        for ticket in namesUnderWay where names[ticket]!.process != set.process {
            #expect(!concerns(names[ticket]!, set), "granted in the middle of a rename")
        }
    }

    /// Checks what must hold after each event.
    private func check() {
        table.assertInvariants()
        let nodes = table.snapshot(now: now)
        let states = Dictionary(
            nodes.flatMap(\.claims).map { ($0.set, $0) }, uniquingKeysWith: { first, _ in first })
        #expect(Set(states.keys) == Set(sets.map(\.id)), "the listing does not show who has and wants claims")
        #expect(Set(states.values.filter { $0.state == .granted }.map(\.set)) == granted)
        let parked = Set(names.keys).subtracting(namesUnderWay)
        let tickets = parked.union(parkedOpens.keys).union(parkedWrites.keys)
        #expect(Set(nodes.flatMap(\.waiters).map(\.ticket)) == tickets)
        // After a deadline has passed, a set may be waiting only for `timePassed`.
        let isDue = table.nextDeadline.map { $0 <= now } == true
        for set in sets where states[set.id]?.state == .waiting && set.mode == .access && !isDue {
            #expect(states[set.id]?.waitsFor.isEmpty == false, "somebody waits for nothing")
        }
        for ticket in parked {
            let change = names[ticket]!
            let isBarred = sets.contains {
                $0.mode != .batch && $0.process != change.process && concerns(change, $0)
            }
            #expect(isBarred, "a name change waits for nothing")
        }
    }
}

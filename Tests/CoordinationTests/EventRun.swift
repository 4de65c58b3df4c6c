import Coordination
import Model
import Testing

/// One random run of the table with a stand-in for the engine, which keeps queues, tickets and writes in flight.
///
/// Each process has two handles of its own, so that a writer is a process and the promises can be told per process.
struct EventRun {
    private struct Queue {
        let process: ProcessID
        /// Numbers of writes that are in the queue, and of those that are accepted but not there yet.
        var queued: [Int] = []
        var onTheirWay: [Int] = []
        var applied = 0
        var isGranted = false
    }

    private struct Waiting {
        let inode: InodeNumber
        let kind: WaitKind
        let writer: Writer
        /// The last write its process had issued on the file.
        let issued: Int
    }

    private struct Place: Hashable {
        let inode: InodeNumber
        let process: ProcessID
    }

    private static let files = [InodeNumber(1), InodeNumber(2)]
    private static let processes = (Int32(1)...4).map { ProcessID($0) }

    private var random: SeededGenerator
    private var table = LockTable(limits: LockTable.Limits(quiet: .milliseconds(50), session: .milliseconds(300)))
    private var now = Moment.ms(0)
    private var queues: [TurnID: Queue] = [:]
    private var waiting: [Ticket: Waiting] = [:]
    private var inFlight: [(inode: InodeNumber, writer: Writer)] = []
    /// Per process and file: the last write issued, and the last one that took effect.
    private var issued: [Place: Int] = [:]
    private var tookEffect: [Place: Int] = [:]
    private var withdrawn: [Place: Set<Int>] = [:]
    /// Per process and file: the last write of those that had the number before, of which its successor knows nothing.
    private var inherited: [Place: Int] = [:]
    private var lastGranted: [InodeNumber: UInt64] = [:]
    private var lastTicket: UInt64 = 0
    private var handles: [ProcessID: [OpenHandleID]] = [:]
    private var lastHandle: UInt64 = 0
    /// Everything the table answered, in order.
    private(set) var transcript: [String] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        for process in Self.processes {
            handles[process] = [OpenHandleID(lastHandle + 1), OpenHandleID(lastHandle + 2)]
            lastHandle += 2
        }
    }

    mutating func step() {
        now = now + .milliseconds(Int.random(in: 0...20, using: &random))
        let inode = Self.files.randomElement(using: &random)!
        let process = Self.processes.randomElement(using: &random)!
        let writer = Writer(process: process, handle: handles[process]!.randomElement(using: &random)!)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<30: write(inode, writer)
        case 30..<50: finishOne()
        case 50..<60: enqueueOne()
        case 60..<72: drainOne()
        case 72..<80: wait(inode, writer)
        case 80..<83: cancelOne()
        case 83..<88: perform(table.end(inode, by: writer, reason: .close, now: now))
        case 88..<90: perform(table.end(inode, by: writer, reason: .fsync, now: now))
        case 90..<92: perform(table.endSessions(of: process, now: now))
        case 92..<94: close(writer.handle!)
        case 94: die(process)
        default: passTime()
        }
        check()
    }

    /// No new events: everything that was begun comes to its end within a bounded number of rounds.
    mutating func settle() {
        var rounds = 0
        while !(waiting.isEmpty && queues.isEmpty && inFlight.isEmpty), rounds < 2000 {
            rounds += 1
            if !inFlight.isEmpty {
                finishOne()
            } else if queues.values.contains(where: { !$0.onTheirWay.isEmpty }) {
                enqueueOne()
            } else if queues.values.contains(where: \.isGranted) {
                drainOne()
            } else if let deadline = table.nextDeadline {
                now = max(now, deadline)
                passTime()
            } else {
                break
            }
            check()
        }
        #expect(waiting.isEmpty && queues.isEmpty, "somebody waits for ever")
        #expect(table.nextDeadline == nil)
        for (place, last) in issued {
            let gone = withdrawn[place] ?? []
            let expected = (1...last).last { !gone.contains($0) } ?? 0
            #expect(tookEffect[place, default: 0] == expected, "a write was lost")
        }
    }

    mutating func everybodyLeaves() {
        for handle in handles.values.flatMap(\.self).sorted(by: { $0.rawValue < $1.rawValue }) { close(handle) }
        #expect(table.isEmpty)
        #expect(table.snapshot(now: now) == [])
        #expect(table.processes == [])
    }

    /// The last close of a handle, unless it is in use; its process opens another, as handles are never reused.
    private mutating func close(_ handle: OpenHandleID) {
        if waiting.values.contains(where: { $0.writer.handle == handle }) { return }
        for inode in Self.files { perform(table.handleClosed(inode, handle, now: now)) }
        for (process, open) in handles where open.contains(handle) {
            lastHandle += 1
            handles[process] = open.filter { $0 != handle } + [OpenHandleID(lastHandle)]
        }
    }
}

extension EventRun {
    private mutating func write(_ inode: InodeNumber, _ writer: Writer) {
        let place = Place(inode: inode, process: writer.process)
        let verdict = table.write(inode, by: writer, now: now, nonblocking: Int.random(in: 0..<8, using: &random) == 0)
        transcript.append("\(verdict)")
        switch verdict {
        case .proceed:
            issued[place, default: 0] += 1
            tookEffect(issued[place]!, place)
            inFlight.append((inode, writer))
        case .deferred(let turn):
            issued[place, default: 0] += 1
            queues[turn, default: Queue(process: writer.process)].onTheirWay.append(issued[place]!)
        case .refused(let refusal):
            #expect(refusal == .wouldBlock)
        case .unplaced:
            Issue.record("there are no claims")
        }
    }

    private mutating func wait(_ inode: InodeNumber, _ writer: Writer) {
        lastTicket += 1
        let kind = [WaitKind.open, .read, .close, .fsync, .unlock].randomElement(using: &random)!
        let verdict = table.wait(Ticket(lastTicket), for: kind, on: inode, by: writer, now: now)
        transcript.append("\(verdict)")
        let place = Place(inode: inode, process: writer.process)
        let waiter = Waiting(inode: inode, kind: kind, writer: writer, issued: issued[place, default: 0])
        switch verdict {
        case .proceed: goOn(waiter)
        case .parked: waiting[Ticket(lastTicket)] = waiter
        case .refused, .unplaced: Issue.record("refused below every bound")
        }
    }

    private mutating func goOn(_ waiter: Waiting) {
        let place = Place(inode: waiter.inode, process: waiter.writer.process)
        let gone = withdrawn[place] ?? []
        let needed = (0...waiter.issued).last { !gone.contains($0) } ?? 0
        guard needed > inherited[place, default: 0] || waiter.kind == .open else { return }
        if waiter.kind == .open {
            inFlight.append((waiter.inode, waiter.writer))
        } else {
            #expect(tookEffect[place, default: 0] >= needed, "\(waiter.kind) overtook its own writes")
        }
    }

    private mutating func die(_ process: ProcessID) {
        perform(table.processDied(process, now: now))
        for handle in handles[process]! { close(handle) }
        #expect(!waiting.values.contains { $0.writer.process == process }, "a dead process waits")
        for (place, last) in issued where place.process == process { inherited[place] = last }
    }

    private mutating func finishOne() {
        guard let index = inFlight.indices.randomElement(using: &random) else { return }
        let (inode, writer) = inFlight.remove(at: index)
        perform(table.finished(inode, by: writer, byteCount: 1, now: now))
    }

    private mutating func enqueueOne() {
        let turns = queues.filter { !$0.value.onTheirWay.isEmpty }.keys.sorted { $0.number < $1.number }
        guard let turn = turns.randomElement(using: &random), let queue = queues[turn] else { return }
        let write = queues[turn]!.onTheirWay.removeFirst()
        if Int.random(in: 0..<10, using: &random) == 0 {
            withdrawn[Place(inode: turn.inode, process: queue.process), default: []].insert(write)
            perform(table.withdrawn(turn, now: now))
        } else {
            queues[turn]!.queued.append(write)
            perform(table.queued(turn, now: now))
        }
    }

    private mutating func drainOne() {
        let turns = queues.filter(\.value.isGranted).keys.sorted { $0.number < $1.number }
        guard let turn = turns.randomElement(using: &random), let queue = queues[turn] else { return }
        let place = Place(inode: turn.inode, process: queue.process)
        #expect(!inFlight.contains { $0.inode == turn.inode }, "a drain began while a write was in flight")
        for write in queue.queued { tookEffect(write, place) }
        queues[turn]!.applied += queue.queued.count
        queues[turn]!.queued = []
        queues[turn]!.isGranted = false
        perform(table.drained(turn, applied: queues[turn]!.applied, now: now))
    }

    private mutating func cancelOne() {
        let tickets = waiting.keys.sorted { $0.rawValue < $1.rawValue }
        guard let ticket = tickets.randomElement(using: &random) else { return }
        let effects = table.cancel(ticket, now: now)
        #expect(effects.first == .wake(ticket, .cancelled))
        perform(effects)
    }

    private mutating func passTime() {
        let contested = Set(table.snapshot(now: now).filter { !$0.waiters.isEmpty }.map(\.inode))
        let effects = table.timePassed(now: now)
        for case .sessionEnded(let inode) in effects {
            #expect(contested.contains(inode), "a session ended by time although nobody waited")
        }
        perform(effects)
        if let deadline = table.nextDeadline { #expect(deadline > now, "a deadline was missed") }
    }

    private mutating func tookEffect(_ write: Int, _ place: Place) {
        #expect(write > tookEffect[place, default: 0], "a write overtook an earlier one of its process")
        tookEffect[place] = write
    }

    private mutating func perform(_ effects: [Effect]) {
        for effect in effects {
            transcript.append("\(effect)")
            switch effect {
            case .grant(let turn):
                #expect(queues[turn]?.isGranted == false, "granted twice, or to nobody")
                #expect(turn.number >= lastGranted[turn.inode, default: 0], "granted out of order")
                lastGranted[turn.inode] = turn.number
                queues[turn]?.isGranted = true
            case .wake(let ticket, let reason):
                guard let waiter = waiting.removeValue(forKey: ticket) else {
                    Issue.record("woken twice, or never parked")
                    continue
                }
                if reason == .granted { goOn(waiter) }
            case .sessionEnded(let inode):
                #expect(!inFlight.contains { $0.inode == inode }, "handed over in the middle of a write")
            case .claim:
                Issue.record("there are no claims")
            }
        }
        for (turn, queue) in queues where table.isOver(turn) {
            #expect(queue.queued.isEmpty && queue.onTheirWay.isEmpty, "a turn ended with writes left")
            queues[turn] = nil
        }
    }

    /// Everything that must be true after each event.
    private func check() {
        for inode in Self.files {
            let writing = Set(inFlight.filter { $0.inode == inode }.map(\.writer.process))
            #expect(writing.count <= 1, "two processes write at once")
            let granted = queues.filter { $0.key.inode == inode && $0.value.isGranted }
            #expect(granted.count <= 1, "two turns are applied at once")
            #expect(granted.isEmpty || writing.isEmpty, "a write interleaves with a turn being applied")
        }
        let nodes = table.snapshot(now: now)
        for node in nodes {
            #expect(node.holders.count == 1, "waiters without a holder, or two holders")
            let inFlightHere = inFlight.count { $0.inode == node.inode }
            #expect(node.holders.first?.writesInFlight == inFlightHere)
        }
        let listed = Set(nodes.flatMap(\.waiters).compactMap(\.ticket))
        #expect(listed == Set(waiting.keys), "the listing does not show who waits")
        #expect(table.isEmpty == nodes.isEmpty)
    }
}

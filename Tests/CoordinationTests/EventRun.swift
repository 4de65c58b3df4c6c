import Coordination
import Model
import SeededRandomness
import Testing

/// One random run of the table with a stand-in for the engine, which tracks open handles, tickets and writes in flight.
struct EventRun {
    private struct Handle: Hashable {
        let inode: InodeNumber
        let writer: Writer
        let isRewriting: Bool
    }

    private static let files = [InodeNumber(1), InodeNumber(2)]
    private static let processes = (Int32(1)...4).map { ProcessID($0) }

    private var random: SeededGenerator
    private var table = LockTable(limits: LockTable.Limits(quiet: .milliseconds(50), turn: .milliseconds(300)))
    private var now = Instant.ms(0)
    /// In the order in which they were opened.
    private var open: [Handle] = []
    private var waiting: [Ticket: Handle] = [:]
    private var inFlight: [Handle] = []
    private var lastTicket: UInt64 = 0
    private var lastHandle: UInt64 = 0
    /// All answers of the table, in order.
    private(set) var transcript: [String] = []

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func step() {
        now = now + .milliseconds(Int.random(in: 0...20, using: &random))
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<30: openOne()
        case 30..<55: writeOne()
        case 55..<75: finishOne()
        case 75..<87: closeOne()
        case 87..<91: cancelOne()
        case 91: die()
        default: passTime()
        }
        check()
    }

    /// Without new events, everything that was begun must end within a bounded number of rounds.
    mutating func converge() {
        var rounds = 0
        while !(waiting.isEmpty && inFlight.isEmpty), rounds < 2000 {
            rounds += 1
            if !inFlight.isEmpty {
                finishOne()
            } else if let deadline = table.nextDeadline {
                now = max(now, deadline)
                passTime()
            } else {
                break
            }
            check()
        }
        #expect(waiting.isEmpty, "somebody waits for ever")
        #expect(table.nextDeadline == nil)
    }

    mutating func everybodyLeaves() {
        while !open.isEmpty { closeOne() }
        #expect(table.isEmpty)
        #expect(table.snapshot(now: now) == [])
        #expect(table.processes == [])
    }
}

extension EventRun {
    private mutating func openOne() {
        lastTicket += 1
        lastHandle += 1
        let writer = Writer(
            process: Self.processes.randomElement(using: &random)!, handle: OpenHandleID(lastHandle))
        let handle = Handle(
            inode: Self.files.randomElement(using: &random)!, writer: writer, isRewriting: Bool.random(using: &random))
        let before = turn(of: handle.inode)
        let inFlightOfTurn = table.snapshot(now: now).first { $0.inode == handle.inode }?.holders.first?.writesInFlight
        let verdict = table.open(
            lastTicket, writer, on: handle.inode, rewriting: handle.isRewriting, at: now)
        transcript.append("\(verdict)")
        switch verdict {
        case .proceed:
            if handle.isRewriting, !before.isEmpty, !before.contains(writer.process) {
                #expect(inFlightOfTurn == 0, "a turn was taken over in the middle of a write")
            }
            open.append(handle)
        case .parked:
            #expect(!before.contains(writer.process), "a process waits for itself")
            waiting[Ticket(lastTicket)] = handle
        case .refused, .unplaced: Issue.record("neither may be: \(verdict)")
        }
    }

    private mutating func writeOne() {
        guard let handle = open.randomElement(using: &random) else { return }
        lastTicket += 1
        #expect(table.write(Ticket(lastTicket), handle.inode, by: handle.writer, now: now) == .proceed)
        inFlight.append(handle)
    }

    private mutating func finishOne() {
        guard let index = inFlight.indices.randomElement(using: &random) else { return }
        let handle = inFlight.remove(at: index)
        perform(table.finished(handle.inode, by: handle.writer, byteCount: 1, now: now))
    }

    /// The last close of a handle, unless it is in use.
    private mutating func closeOne() {
        let idle = open.indices.filter { !inFlight.contains(open[$0]) }
        guard let index = idle.randomElement(using: &random) else { return }
        let handle = open.remove(at: index)
        perform(table.handleClosed(handle.inode, handle.writer.handle!, now: now))
    }

    private mutating func cancelOne() {
        let tickets = waiting.keys.sorted { $0.rawValue < $1.rawValue }
        guard let ticket = tickets.randomElement(using: &random) else { return }
        let effects = table.cancel(ticket, now: now)
        #expect(effects.first == .wake(ticket, .cancelled))
        perform(effects)
    }

    private mutating func die() {
        let process = Self.processes.randomElement(using: &random)!
        perform(table.processDied(process, now: now))
        #expect(!waiting.values.contains { $0.writer.process == process }, "a dead process waits")
    }

    private mutating func passTime() {
        perform(table.timePassed(now: now))
        if let deadline = table.nextDeadline { #expect(deadline > now, "a deadline was missed") }
    }

    private mutating func perform(_ effects: [Effect]) {
        for effect in effects {
            transcript.append("\(effect)")
            guard case .wake(let ticket, let reason) = effect else {
                Issue.record("there are no claims")
                continue
            }
            guard let handle = waiting.removeValue(forKey: ticket) else {
                Issue.record("woken twice, or never parked")
                continue
            }
            guard reason == .granted else { continue }
            let earlier = waiting.filter { $0.key.rawValue < ticket.rawValue && $0.value.inode == handle.inode }
            #expect(
                earlier.values.allSatisfy { $0.writer.process != handle.writer.process }, "overtook its own process")
            open.append(handle)
        }
    }

    private func turn(of inode: InodeNumber) -> [ProcessID] { table.turnProcesses(inode) }

    /// Checks what must hold after each event.
    private func check() {
        table.assertInvariants()
        let nodes = table.snapshot(now: now)
        for node in nodes {
            #expect(node.holders.count <= 1, "two turns at a time")
            #expect(node.waiters.isEmpty || node.holders.count == 1, "somebody waits for nobody")
            #expect(node.waiters.allSatisfy { !$0.waitsFor.isEmpty })
        }
        for inode in Self.files {
            #expect(Set(turn(of: inode)).count <= 1, "two lines of descent have one turn")
        }
        let listed = Set(nodes.flatMap(\.waiters).map(\.ticket))
        #expect(listed == Set(waiting.keys), "the listing does not show who waits")
        #expect(table.isEmpty == (open.isEmpty && waiting.isEmpty))
    }
}

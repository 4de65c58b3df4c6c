import Foundation
import Glibc
import Model
import Remote
import Synchronization
import VirtualTime

/// One seed: devices that work, fail and crash, and quiet points at which the promises are checked.
struct Simulation {
    let world: World

    /// The outcome of a run.
    struct Outcome: Sendable {
        var failure: String?
        var fingerprint: String
    }

    /// How many jobs one run may take: more means an endless loop.
    private static let jobLimit = 20_000_000

    /// Runs to the end, on this thread.
    func run() -> Outcome {
        var failure: String?
        if case .failure(let error) = result(of: live) { failure = "\(error)" }
        return Outcome(failure: failure, fingerprint: world.trace.fingerprint)
    }

    func result<Value: Sendable>(of body: @escaping @Sendable () async throws -> Value) -> Result<Value, any Error> {
        let holder = ResultHolder<Value>()
        BlockingWork.$isInline.withValue(true) {
            _ = Task(executorPreference: world.executor) {
                do {
                    holder.set(.success(try await body()))
                } catch {
                    holder.set(.failure(error))
                }
            }
        }
        var jobCount = 0
        while true {
            if let result = holder.result { return result }
            jobCount += 1
            guard jobCount < Self.jobLimit else {
                return .failure(Violation("endless loop"))
            }
            if world.executor.runNext() || world.clock.advance() { continue }
            return .failure(Violation("deadlock: all tasks wait"))
        }
    }

    private func live() async throws {
        let devices = try await startDevices()
        var programs = devices.flatMap { Program.all(on: $0) }
        var random = SeededRandom(seed: world.seed, stream: "simulation")
        for steps in world.scenario.phases {
            for device in devices {
                device.store.link = SimulatedStore.Link(
                    isInReach: true, faultShare: world.scenario.faultShare, longestDelay: world.scenario.longestDelay)
            }
            programs = try await work(programs, steps: steps / devices.count)
            let quiet = QuietPoint(world: world, devices: devices, programs: programs)
            try await quiet.run(random: &random)
            guard world.scenario.hasLongTimes else { continue }
            programs = try await passLongTime(programs)
            try await QuietPoint(world: world, devices: devices, programs: programs).run(random: &random)
        }
        for index in programs.indices { await programs[index].closeAll() }
        if world.scenario.isContended { for device in devices { try device.checkLocks() } }
        for device in devices { try await device.stop(.orderly) }
        for device in devices {
            try device.start(after: .orderly)
            try await device.stop(.orderly)
        }
        try world.throwViolation()
    }

    /// The container, and devices that are running.
    func startDevices() async throws -> [SimulatedDevice] {
        try await world.createContainer()
        let devices = (0..<world.scenario.deviceCount).map { number in
            SimulatedDevice(
                world: world, number: number, name: String(UnicodeScalar(UInt8(ascii: "A") + UInt8(number))),
                skew: world.scenario.skews[number], sendsHints: world.scenario.sendsHints[number])
        }
        for device in devices { try device.start() }
        return devices
    }

    /// How many operations there are while one device is away for long.
    private static let absenceSteps = 8

    /// Lets weeks pass, in which snapshots are made, the log is trimmed and garbage is collected; one device may be
    /// away meanwhile, with changes of its own.
    private func passLongTime(_ programs: [Program]) async throws -> [Program] {
        var random = SeededRandom(seed: world.seed, stream: "long time at \(world.clock.now)")
        var programs = programs
        let away = random.happens(0.7) ? random.pick(programs).device : nil
        let present = programs.filter { $0.index == 0 }.map(\.device).filter { $0.number != away?.number }
        var isDown = false
        if let away {
            world.trace.note("\(away.name) goes away")
            away.store.link.isInReach = false
            programs = try await work(programs, steps: Self.absenceSteps, disturbing: false)
            isDown = random.happens(0.5)
            if isDown { try await away.stop(random.happens(0.5) ? .killed : .powerFailure) }
        }
        for _ in 0..<random.number(1...4) {
            try await QuietPoint(world: world, devices: present, programs: []).waitForRest()
            if random.happens(0.7) { try await random.pick(present).makeSnapshot() }
            if random.happens(0.7) { try await random.pick(present).collectGarbage() }
            try await QuietPoint(world: world, devices: present, programs: []).waitForRest()
            let pause = Duration.seconds(86_400 * random.pick([0, 1, 8, 31, 45]))
            world.trace.note("\(pause) pass")
            world.clock.leap(pause)
            let workers = programs.filter { $0.device.number != away?.number }
            let worked = try await work(workers, steps: random.number(0...Self.absenceSteps), disturbing: false)
            programs = programs.map { program in
                worked.first { $0.label == program.label } ?? program
            }
        }
        if let away {
            world.trace.note("\(away.name) comes back")
            if isDown { try away.start(after: .killed) }
            away.store.link = .good
        }
        return programs
    }

    /// Has all programs work at the same time.
    ///
    /// - Parameter isDisturbing: Whether devices crash, end and lose their network meanwhile.
    func work(
        _ programs: [Program], steps: Int, disturbing isDisturbing: Bool = true
    ) async throws -> [Program] {
        let devices = programs.filter { $0.index == 0 }.map(\.device)
        let gossip = Gossip(world, devices, at: world.clock.now).map { gossip in
            Task(executorPreference: world.executor) {
                var gossip = gossip
                await gossip.run()
            }
        }
        defer { gossip?.cancel() }
        return try await withThrowingTaskGroup(of: Program.self) { group in
            for program in programs {
                group.addTask {
                    var program = program
                    try await program.run(steps: steps, disturbing: isDisturbing)
                    return program
                }
            }
            var done: [Program] = []
            for try await program in group { done.append(program) }
            return done.sorted { ($0.device.number, $0.index) < ($1.device.number, $1.index) }
        }
    }
}

/// The result of a run, for the loop that drives it.
private final class ResultHolder<Value: Sendable>: Sendable {
    private let value = Mutex<Result<Value, any Error>?>(nil)

    var result: Result<Value, any Error>? { value.withLock { $0 } }

    func set(_ result: Result<Value, any Error>) { value.withLock { $0 = $0 ?? result } }
}

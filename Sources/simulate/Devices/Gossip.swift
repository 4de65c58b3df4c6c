import FileSystem
import Foundation
import Model
import Remote
import Sync
import VirtualTime

/// What devices tell each other of commits: most of it true, some of it late, repeated, lost or a lie. Nothing but time may
/// follow from it.
struct Gossip: Sendable {
    private let world: World
    private let devices: [SimulatedDevice]
    private var random: SeededRandom
    private var old: [CommitHint] = []

    /// The share of seeds in which devices tell each other anything.
    private static let share = 0.3
    private static let memory = 16

    /// - Returns: `nil` in seeds without.
    init?(_ world: World, _ devices: [SimulatedDevice], at time: Duration) {
        var chance = SeededRandom(seed: world.seed, stream: "gossip")
        guard chance.happens(Self.share) else { return nil }
        self.world = world
        self.devices = devices
        random = SeededRandom(seed: world.seed, stream: "gossip at \(time)")
    }

    /// Goes on until cancelled.
    mutating func run() async {
        while await pause() {
            // A device that is down neither tells nor hears.
            guard let hint = next(), let hearer = try? random.pick(devices).fileSystem else { continue }
            hearer.syncEngine.hints.received(hint, from: "elsewhere")
            if random.happens(0.1) { hearer.syncEngine.hints.notified(of: random.happens(0.5) ? nil : hint.number) }
        }
    }

    /// - Returns: `false` when cancelled.
    private mutating func pause() async -> Bool {
        let longest = random.pick([200, 2000, 20_000])
        return (try? await world.clock.sleep(random.milliseconds(50...longest))) != nil
    }

    private mutating func next() -> CommitHint? {
        if random.happens(0.2), !old.isEmpty { return random.pick(old) }
        guard let hint = try? random.pick(devices).fileSystem.syncEngine.hints.announcement() else { return nil }
        old = Array((old + [hint]).suffix(Self.memory))
        guard random.happens(0.2) else { return hint }
        let number = random.pick([0, hint.number &+ 1, hint.number &+ 1000, Commit.highestNumber])
        return CommitHint(device: hint.device, number: number, time: hint.time.later(by: .seconds(1)), hash: Data())
    }
}

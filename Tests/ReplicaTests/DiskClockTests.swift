import Model
import Testing

@testable import Replica

@Suite struct DiskClockTests {
    private let clock = DiskClock()

    @Test
    func `the clock returns the time of the tick while no file is newer`() {
        #expect(clock.time(atTick: Timestamp(rawValue: 5)).rawValue == 5)
        clock.note(Timestamp(rawValue: 4))
        #expect(clock.time(atTick: Timestamp(rawValue: 5)).rawValue == 5)
    }

    @Test
    func `the clock returns the time of the newest file if it is ahead of the tick`() {
        clock.note(Timestamp(rawValue: DiskClock.tick))
        clock.note(Timestamp(rawValue: 7))
        #expect(clock.time(atTick: Timestamp(rawValue: 1)).rawValue == DiskClock.tick)
        #expect(clock.time(atTick: Timestamp(rawValue: DiskClock.tick + 1)).rawValue == DiskClock.tick + 1)
    }

    @Test
    func `a file time too far ahead of the tick is ignored`() {
        clock.note(Timestamp(rawValue: DiskClock.tick + 1))
        #expect(clock.time(atTick: Timestamp(rawValue: 1)).rawValue == 1)
        // It stays ignored even when the clock comes close to it.
        #expect(clock.time(atTick: Timestamp(rawValue: 2)).rawValue == 2)
    }

    @Test(arguments: [Int64.min, .max])
    func `a file with an impossible time is ignored`(_ time: Int64) {
        clock.note(Timestamp(rawValue: time))
        #expect(clock.time(atTick: Timestamp(rawValue: -3)).rawValue == -3)
    }
}

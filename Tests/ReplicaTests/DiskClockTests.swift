import Model
import Testing

@testable import Replica

@Suite struct DiskClockTests {
    private let clock = DiskClock()

    @Test
    func `the time is that of the tick while no file is newer`() {
        #expect(clock.time(atTick: Timestamp(rawValue: 5)).rawValue == 5)
        clock.note(Timestamp(rawValue: 4))
        #expect(clock.time(atTick: Timestamp(rawValue: 5)).rawValue == 5)
    }

    @Test
    func `the time is that of the newest file ahead of the tick`() {
        clock.note(Timestamp(rawValue: DiskClock.tick))
        clock.note(Timestamp(rawValue: 7))
        #expect(clock.time(atTick: Timestamp(rawValue: 1)).rawValue == DiskClock.tick)
        #expect(clock.time(atTick: Timestamp(rawValue: DiskClock.tick + 1)).rawValue == DiskClock.tick + 1)
    }

    @Test
    func `a file that is much newer was written before the clock was set back`() {
        clock.note(Timestamp(rawValue: DiskClock.tick + 1))
        #expect(clock.time(atTick: Timestamp(rawValue: 1)).rawValue == 1)
        // From then on its time is forgotten, also when the clock comes near to it.
        #expect(clock.time(atTick: Timestamp(rawValue: 2)).rawValue == 2)
    }

    @Test(arguments: [Int64.min, .max])
    func `a file with an impossible time changes nothing`(_ time: Int64) {
        clock.note(Timestamp(rawValue: time))
        #expect(clock.time(atTick: Timestamp(rawValue: -3)).rawValue == -3)
    }
}

import Coordination
import Model
import Testing

/// Random events from several processes on a few files, as the engine sends them, with checks after each.
@Suite struct RandomEventTests {
    @Test(arguments: 0..<60 as Range<UInt64>)
    func `random events never violate the guarantees of the lock table`(seed: UInt64) {
        var run = EventRun(seed: seed)
        for _ in 0..<400 { run.step() }
        run.converge()
        run.everybodyLeaves()
    }

    @Test(arguments: 0..<5 as Range<UInt64>)
    func `runs with the same seed have the same transcript`(seed: UInt64) {
        var runs = [EventRun(seed: seed), EventRun(seed: seed)]
        for index in runs.indices {
            for _ in 0..<400 { runs[index].step() }
            runs[index].converge()
        }
        #expect(runs[0].transcript == runs[1].transcript)
        #expect(runs[0].transcript.count > 50)
    }
}

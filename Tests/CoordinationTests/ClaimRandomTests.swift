import Coordination
import Model
import Testing

/// Random events of claims and of plain programs; the table is checked after each.
@Suite struct ClaimRandomTests {
    @Test(arguments: 0..<40 as Range<UInt64>)
    func `random events never violate the guarantees of claims`(seed: UInt64) throws {
        var run = ClaimRun(seed: seed)
        for _ in 0..<250 { try run.step() }
        run.converge()
        run.everybodyLeaves()
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `claim runs with the same seed have the same transcript`(seed: UInt64) throws {
        var runs = [ClaimRun(seed: seed), ClaimRun(seed: seed)]
        for index in runs.indices {
            for _ in 0..<300 { try runs[index].step() }
            runs[index].converge()
        }
        #expect(runs[0].transcript == runs[1].transcript)
        #expect(runs[0].transcript.count > 50)
    }
}

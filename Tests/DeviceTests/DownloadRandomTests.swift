import Testing

/// Random events of one download, driven as ``Download`` drives its state, checked after each.
@Suite struct DownloadRandomTests {
    @Test(arguments: 0..<40 as Range<UInt64>)
    func `random events answer everybody exactly once, with the right bytes`(seed: UInt64) async {
        for sequence in 0..<75 as Range<UInt64> {
            // Others need the threads too.
            await Task.yield()
            var run = DownloadRun(seed: seed << 32 | sequence)
            for _ in 0..<Int(10 + sequence) { run.step() }
            run.finish()
        }
    }

    @Test(arguments: 0..<5 as Range<UInt64>)
    func `a seed repeats itself`(seed: UInt64) {
        var runs = [DownloadRun(seed: seed), DownloadRun(seed: seed)]
        for index in runs.indices {
            for _ in 0..<60 { runs[index].step() }
            runs[index].finish()
        }
        #expect(runs[0].transcript == runs[1].transcript)
        #expect(runs[0].transcript.count > 10)
    }
}

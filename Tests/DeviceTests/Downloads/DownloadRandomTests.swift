import Testing

/// Random events of one download, applied as ``Download`` applies them, with checks after each event.
@Suite struct DownloadRandomTests {
    @Test(arguments: 0..<40 as Range<UInt64>)
    func `random events answer every waiter exactly once, with the right bytes`(seed: UInt64) async {
        for sequence in 0..<75 as Range<UInt64> {
            // Lets other tests use the thread.
            await Task.yield()
            var run = DownloadRun(seed: seed << 32 | sequence)
            for _ in 0..<Int(10 + sequence) { run.step() }
            run.finish()
        }
    }

    @Test(arguments: 0..<5 as Range<UInt64>)
    func `a seed reproduces the same run`(seed: UInt64) {
        var runs = [DownloadRun(seed: seed), DownloadRun(seed: seed)]
        for index in runs.indices {
            for _ in 0..<60 { runs[index].step() }
            runs[index].finish()
        }
        #expect(runs[0].transcript == runs[1].transcript)
        #expect(runs[0].transcript.count > 10)
    }
}

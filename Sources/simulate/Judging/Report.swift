/// The report on a failed seed.
struct Report: CustomStringConvertible {
    let world: World
    let failure: String

    /// How many of the last lines are shown.
    private static let lineCount = 60

    var description: String {
        """

        seed \(world.seed) failed: \(failure)
        scenario: \(world.scenario)
        last of the trace:
          \(world.trace.last.suffix(Self.lineCount).joined(separator: "\n  "))
        replay: scripts/simulate --seed \(world.seed) --trace

        """
    }
}

import Foundation

/// A range of seeds that is distributed over several processes.
struct SeedRange {
    let seeds: Range<UInt64>

    init(_ seeds: Range<UInt64>) { self.seeds = seeds }

    /// How many seeds a process runs at a time.
    private static let portion: UInt64 = 50

    /// Runs the seeds, and passes on the output of the processes.
    /// - Returns: The seeds that failed.
    func run(inProcesses width: Int, arguments: [String]) throws -> [UInt64] {
        var failed: [UInt64] = []
        var next = seeds.lowerBound
        var done = 0
        while next < seeds.upperBound {
            var portions: [(process: Process, output: Pipe, count: UInt64)] = []
            for _ in 0..<width where next < seeds.upperBound {
                let count = min(Self.portion, seeds.upperBound - next)
                portions.append(try begin(first: next, count: count, arguments))
                next += count
            }
            for portion in portions {
                let text = String(decoding: portion.output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                portion.process.waitUntilExit()
                done += Int(portion.count)
                if portion.process.terminationStatus == 0 { continue }
                print(text)
                failed += text.split(separator: "\n").compactMap(Self.failedSeed)
                if portion.process.terminationReason == .uncaughtSignal { throw Died(text: text) }
            }
            print("\(done) seeds, \(failed.count) failed")
        }
        return failed
    }

    /// A process was ended by a signal.
    struct Died: Error, CustomStringConvertible {
        let text: String
        var description: String { "a simulation was ended by a signal: \(text.suffix(2000))" }
    }

    private static func failedSeed(_ line: Substring) -> UInt64? {
        guard line.hasPrefix("seed "), line.contains(" failed: ") else { return nil }
        return UInt64(line.dropFirst("seed ".count).prefix { $0.isNumber })
    }

    private func begin(
        first: UInt64, count: UInt64, _ arguments: [String]
    ) throws -> (process: Process, output: Pipe, count: UInt64) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe")
        process.arguments = ["\(count)", "--first", "\(first)"] + arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        return (process, output, count)
    }
}

import Glibc
import Model

/// `recovered/` in the state directory: where repair puts files that it cannot place, for the user to look at. Nothing in it is ever
/// changed or deleted, nor becomes an item.
struct RecoveredFiles {
    private let path: String

    init(_ state: StateDirectory) { path = state.recovered }

    /// Moves a file there, under its own name or one with a number.
    /// - Returns: Where it is now, below the state directory.
    func take(_ place: BackingPlace, named text: String) throws -> String {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw FileError(systemCall: errno, "mkdir \(path)") }
        let directory = try BackingDirectory.openDirectory(path)
        // A name on the disk need not be one that an item may have.
        let name = try (try? ItemName(text)) ?? ItemName("file")
        for number in 1..<(2 + FreeName.attemptLimit) {
            let candidate = try number == 1 ? name : FreeName.candidate(name, number: number)
            let goal = BackingPlace(directory: directory, name: candidate.string)
            guard try SystemCalls.statusIfPresent(goal) == nil else { continue }
            try SystemCalls.rename(place, to: goal)
            return "recovered/\(candidate)"
        }
        throw FileError(.exists, "no free name for \(text) in \(path)")
    }
}

import Linux
import Model

/// `recovered/` in the state directory: repair puts files there that it cannot place, for the user to inspect. They are
/// never changed or deleted, and never become items.
struct RecoveredFiles {
    private let path: String

    init(_ state: ReplicaDirectory) { path = state.recovered }

    /// Moves a file there, under its own name or a numbered one.
    /// - Returns: Its new path, relative to the state directory.
    func take(_ place: BackingPlace, named text: String) throws -> String {
        try SystemCalls.makeDirectory(ifMissing: path)
        let directory = try BackingDirectory.openDirectory(path)
        // A name on the disk need not be a valid item name.
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

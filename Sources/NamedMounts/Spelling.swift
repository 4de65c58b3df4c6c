/// Finds the word that somebody probably meant.
enum Spelling {
    /// The most changed letters of a word that is still suggested, for each three letters of the word.
    private static let lettersPerChange = 3

    /// - Returns: The nearest candidate; `nil` if none is near.
    static func nearest(to word: String, among candidates: [String]) -> String? {
        let word = Array(word.lowercased())
        let limit = max(1, word.count / lettersPerChange)
        return candidates.map { ($0, distance(word, Array($0))) }.filter { $0.1 <= limit }.min { $0.1 < $1.1 }?.0
    }

    /// How many letters must be inserted, removed, replaced or exchanged with their neighbour to make one word the
    /// other.
    private static func distance(_ one: [Character], _ other: [Character]) -> Int {
        var before: [Int] = []
        var last = Array(0...other.count)
        for (row, letter) in one.enumerated() {
            var next = [row + 1]
            for (column, match) in other.enumerated() {
                var best = min(next[column] + 1, last[column + 1] + 1, last[column] + (letter == match ? 0 : 1))
                if row > 0, column > 0, letter == other[column - 1], one[row - 1] == match {
                    best = min(best, before[column - 1] + 1)
                }
                next.append(best)
            }
            (before, last) = (last, next)
        }
        return last[other.count]
    }
}

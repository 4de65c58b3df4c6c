/// Finds the word that somebody probably meant.
package enum Spelling {
    /// The most changed letters of a word that is still suggested, for each three letters of the word.
    private static let lettersPerChange = 3

    /// - Returns: The nearest candidate; `nil` if none is near.
    package static func nearest(to word: String, among candidates: [String]) -> String? {
        let letters = Array(word.lowercased())
        let limit = max(1, letters.count / lettersPerChange)
        return candidates.map { ($0, distance(letters, Array($0))) }.filter { $0.1 <= limit }.min { $0.1 < $1.1 }?.0
    }

    /// - Returns: The nearest candidate, or the only one that begins with the word; `nil` if there is none.
    package static func nearest(toAbbreviation word: String, among candidates: [String]) -> String? {
        if let nearest = nearest(to: word, among: candidates) { return nearest }
        let longer = candidates.filter { $0.hasPrefix(word) }
        return word.count > 1 && longer.count == 1 ? longer[0] : nil
    }

    /// How many letters must be inserted, removed, replaced or exchanged with their neighbour to make one word the
    /// other. Source: Damerau–Levenshtein distance, optimal string alignment.
    static func distance(_ one: [Character], _ other: [Character]) -> Int {
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

import MetadataPredicate
import SeededRandomness
import Testing

/// Random changes of valid formats: each is either parsed and evaluated, or refused at a position within it.
@Suite struct PredicateMutationTests {
    private static let seeds = [
        "%K = %@ AND %K = FALSE AND %K BEGINSWITH %@", "((%K BEGINSWITH[cd] 'h') AND (a.b.@count == %d))",
        "a IN {1, 2.5, 'x', NULL} OR NOT (b BETWEEN {1, c}) || ANY d LIKE[c] \"*\\\"?\"",
        "SELF MATCHES '[a-z]+' && e UTI-CONFORMS-TO 'public.data' || TRUEPREDICATE", "NONE #in.@max.x >= -0x1F.length",
    ]
    private static let words = [
        "(", ")", "{", "}", "[", "]", "'", "\"", "\\", "%", "%@", "%K", "%d", ".", ",", "@count", "NOT ", " AND ", "==",
        "<", "-", "1", "9999999999999999999999", "e", "0x", "#", "$", "é", "\u{0}", "\u{1F600}", "[cd]", " IN ", "UTI-",
        "!",
    ].map { Array($0.unicodeScalars) }

    @Test(arguments: UInt64(1)...4)
    func `a mutated format never crashes the parser`(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let arguments: [Any?] = ["a", "b", "c", 1, "p", nil, 2.5]
        for _ in 0..<5000 {
            var scalars = Array(Self.seeds.randomElement(using: &random)!.unicodeScalars)
            for _ in 0..<Int.random(in: 1...6, using: &random) { Self.mutate(&scalars, &random) }
            let format = String(String.UnicodeScalarView(scalars))
            do throws(PredicateFormatError) {
                let predicate = try MetadataPredicate(format: format, arguments: arguments)
                _ = predicate.evaluate { $0.count == 1 ? "text" : [1, 2] as [Any] }
            } catch {
                #expect((0...scalars.count).contains(error.offset), "\(format)")
                #expect(!error.sentence.isEmpty)
            }
        }
    }

    private static func mutate(_ scalars: inout [Unicode.Scalar], _ random: inout SeededGenerator) {
        let place = Int.random(in: 0...scalars.count, using: &random)
        let end = Int.random(in: place...min(scalars.count, place + 5), using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: scalars.removeSubrange(place..<end)
        case 1: scalars.insert(contentsOf: scalars[place..<end], at: place)
        case 2: scalars.replaceSubrange(place..<end, with: words.randomElement(using: &random)!)
        default: scalars.insert(contentsOf: words.randomElement(using: &random)!, at: place)
        }
    }
}

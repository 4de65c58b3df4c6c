import Foundation
import MetadataPredicate
import Testing

/// A format with its arguments, and its value for ``MetadataPredicateTests/item``.
struct Sample: Sendable, CustomTestStringConvertible {
    let format: String
    // Immutable values of Foundation.
    nonisolated(unsafe) let arguments: [Any?]
    let isTrue: Bool

    init(_ format: String, _ arguments: Any?..., is isTrue: Bool = true) {
        self.format = format
        self.arguments = arguments
        self.isTrue = isTrue
    }

    var testDescription: String { format }
}

@Suite struct MetadataPredicateTests {
    static let changed = Date(timeIntervalSince1970: 1_000_000)

    static func item(_ name: String) -> Any? {
        switch name {
        case "name": "Hôtel.pdf"
        case "path": "/mnt/notes/Documents/Hôtel.pdf"
        case "size": NSNumber(value: UInt64(2048))
        case "percent": NSNumber(value: 12.5)
        case "isShared": NSNumber(value: false)
        case "isLocal": true
        case "changed": changed
        case "url": URL(fileURLWithPath: "/mnt/notes/Documents/Hôtel.pdf")
        case "tags": ["red", "green"]
        case "sizes": [3, 1, 2]
        case "type": "com.adobe.pdf"
        case "owner": ["name": "Ann", "age": 41] as [String: Any]
        case "people": [["name": "Ann", "age": 41], ["name": "Bob", "age": 17]] as [[String: Any]]
        case "in": 1
        default: nil
        }
    }

    static func value(_ sample: Sample) throws -> Bool {
        try MetadataPredicate(format: sample.format, arguments: sample.arguments).evaluate(
            typeTree: { [$0, "public.composite-content", "public.data"] }, lookup: item)
    }

    @Test(arguments: [
        Sample("size = 2048"), Sample("size == 2048.0"), Sample("size == 0x800"), Sample("size != 2048", is: false),
        Sample("size <> 1"), Sample("size < 2049"), Sample("size > 2047"), Sample("size <= 2048"),
        Sample("size =< 2048"), Sample("size >= 2048"), Sample("size => 2049", is: false), Sample("-5 < size"),
        Sample("percent > 1.25e1", is: false), Sample("percent >= 1.25e1"), Sample("percent > size", is: false),
        Sample("size BETWEEN {2048, 4096}"), Sample("size BETWEEN {1, 2047}", is: false),
        Sample("size BETWEEN %@", [1, 5000]), Sample("size IN {1, 2048}"),
        Sample("size IN %@", Set([1, 2]), is: false),
        Sample("isShared = FALSE"), Sample("isShared == NO"), Sample("isLocal == YES"), Sample("isLocal = true"),
        Sample("isLocal == %@", NSNumber(value: true)), Sample("isShared == %d", false),
    ])
    func `numbers are compared by their value, booleans as 0 and 1`(_ sample: Sample) throws {
        #expect(try Self.value(sample) == sample.isTrue)
    }

    @Test(arguments: [
        Sample("name == 'Hôtel.pdf'"), Sample("name == \"Ho\u{302}tel.pdf\""), Sample("name == 'hôtel.pdf'", is: false),
        Sample("name ==[c] 'hôtel.PDF'"), Sample("name ==[c] 'hotel.pdf'", is: false),
        Sample("name ==[cd] 'hotel.pdf'"), Sample("name == [DC] 'hotel.pdf'"), Sample("name ==[n] 'Hôtel.pdf'"),
        Sample("name ==[cdn] 'hotel.pdf'", is: false), Sample("name <[l] 'Z'"), Sample("name < 'I'"),
        Sample("name BEGINSWITH 'H'"), Sample("name beginswith[cd] 'HO'"), Sample("name BEGINSWITH 'o'", is: false),
        Sample("name ENDSWITH '.pdf'"), Sample("name ENDSWITH[c] '.PDF'"), Sample("name CONTAINS 'tel'"),
        Sample("name CONTAINS ''"), Sample("name CONTAINS[d] 'hotel'", is: false), Sample("'tel' IN name"),
        Sample("name LIKE '*.pdf'"), Sample("name LIKE %@", "*.pdf"), Sample("name LIKE '?ôtel*'"),
        Sample("name LIKE '*.pd'", is: false), Sample("name LIKE[cd] 'H*T?L.*'"), Sample("'a*' LIKE 'a\\\\*'"),
        Sample("'ab' LIKE 'a\\\\*'", is: false), Sample("name MATCHES 'H.*[.]pdf'"),
        Sample("name MATCHES 'H'", is: false),
        Sample("name MATCHES[c] 'h.*'"), Sample("'ab' MATCHES 'a|ab'"), Sample("name MATCHES %@", "\\p{Lu}.*\\.pdf"),
        Sample("'a\\'b\"' == \"a'b\\\"\""), Sample("'\\u0041\\x42\\n' == %@", "AB\n"), Sample("'5%' == '5%%'"),
        Sample("'%@' == %@", "%@"), Sample("name == 5", is: false), Sample("name != 5"),
    ])
    func `texts are compared exactly unless an option says otherwise`(_ sample: Sample) throws {
        #expect(try Self.value(sample) == sample.isTrue)
    }

    @Test(arguments: [
        Sample("missing == nil"), Sample("missing = NULL"), Sample("missing == NIL"), Sample("name == nil", is: false),
        Sample("name != NULL"), Sample("missing != 5"), Sample("missing == 5", is: false),
        Sample("missing < 5", is: false), Sample("missing >= 5", is: false), Sample("missing <= nil", is: false),
        Sample("missing BEGINSWITH ''", is: false), Sample("missing LIKE '*'", is: false),
        Sample("missing MATCHES '.*'", is: false), Sample("missing CONTAINS ''", is: false),
        Sample("missing IN {1, 2}", is: false), Sample("missing IN {1, NULL}"), Sample("missing == %@", nil),
        Sample("missing == %@", NSNull()), Sample("NOT missing == 5"), Sample("missing.length == 0", is: false),
        Sample("ANY missing == 5", is: false), Sample("NONE missing == 5"), Sample("ALL missing == 5"),
    ])
    func `a missing attribute equals nil and nothing else`(_ sample: Sample) throws {
        #expect(try Self.value(sample) == sample.isTrue)
    }

    @Test(arguments: [
        Sample("%K == 2048", "size"), Sample("%K.pathComponents.@count == %d", "path", 5),
        Sample("%K.length > %lu", "name", UInt(8)), Sample("%K == %@", "changed", changed),
        Sample("changed < %@", NSDate()), Sample("changed > %@", Date(), is: false),
        Sample("url == %@", URL(fileURLWithPath: "/mnt/notes/Documents/Hôtel.pdf")),
        Sample("url.path BEGINSWITH %@", "/mnt/notes/" as NSString), Sample("url.absoluteString ENDSWITH 'pdf'"),
        Sample("url.pathExtension == 'pdf' AND url.lastPathComponent == name"),
        Sample("name.lowercaseString == 'hôtel.pdf' AND name.uppercaseString BEGINSWITH 'HÔ'"),
        Sample("path.lastPathComponent == name AND name.pathExtension = 'pdf'"),
        Sample("owner.name == 'Ann' && owner.age > 40"), Sample("%K = 41", "owner.age"),
        Sample("owner.%K = 41", "age"), Sample("SELF.name ENDSWITH 'pdf'"), Sample("#in == 1"),
        Sample("sizes.@count == 3 && sizes.@max == 3 && sizes.@min == 1 && sizes.@sum == 6 && sizes.@avg == 2"),
        Sample("people.@avg.age == 29"), Sample("people.@max.name == 'Bob'"), Sample("people.name == {'Ann', 'Bob'}"),
        Sample("percent == %f AND size == %lld", 12.5, Int64(2048)), Sample("percent == %f", NSNumber(value: 12.5)),
        Sample(
            "size == %d AND size == %i AND size == %u AND size == %ld AND size == %llu", 2048, 2048, 2048, 2048, 2048),
        Sample("size == %d", 2048.0), Sample("{size, 1} CONTAINS 2048"),
    ])
    func `placeholders and key paths have the values of Apple's`(_ sample: Sample) throws {
        #expect(try Self.value(sample) == sample.isTrue)
    }

    @Test(arguments: [
        Sample("ANY tags == 'red'"), Sample("SOME tags == 'blue'", is: false), Sample("ALL tags MATCHES '[a-z]+'"),
        Sample("ALL tags == 'red'", is: false), Sample("NONE tags == 'blue'"), Sample("any people.age < 18"),
        Sample("tags CONTAINS 'green'"), Sample("tags CONTAINS[c] 'GREEN'"), Sample("'green' IN tags"),
        Sample("type UTI-CONFORMS-TO 'public.data'"), Sample("type uti-conforms-to 'public.text'", is: false),
        Sample("type UTI-EQUALS 'com.adobe.pdf'"), Sample("tags UTI-CONFORMS-TO 'red'"),
        Sample("name IN %@", NSArray(object: "Hôtel.pdf")),
    ])
    func `lists are searched, and uniform types compared`(_ sample: Sample) throws {
        #expect(try Self.value(sample) == sample.isTrue)
    }

    @Test(arguments: [
        Sample("TRUEPREDICATE"), Sample("falsepredicate", is: false), Sample("NOT FALSEPREDICATE"),
        Sample("!!TRUEPREDICATE"),
        Sample("size == 1 AND size == 2 OR size == 2048"), Sample("size == 2048 OR size == 2 AND size == 3"),
        Sample("(size == 2048 OR size == 2) AND size == 3", is: false), Sample("NOT size == 1 && size == 2048"),
        Sample("size == 1 || size == 2048"), Sample("((size)) == ((2048))"), Sample("not (size == 2048)", is: false),
        Sample("((name BEGINSWITH[cd] 'h') AND (path BEGINSWITH '/mnt')) AND (path.pathComponents.@count == 5)"),
    ])
    func `AND binds closer than OR, and NOT closer than both`(_ sample: Sample) throws {
        #expect(try Self.value(sample) == sample.isTrue)
    }

    @Test func `plain values are compared as SELF`() throws {
        let isText = try MetadataPredicate(format: "SELF BEGINSWITH 'a' AND SELF.length == 3 AND length == 3")
        #expect(isText.evaluate(with: "abc"))
        #expect(!isText.evaluate(with: "abcd"))
        #expect(!isText.evaluate(with: nil))
        #expect(try MetadataPredicate(format: "SELF > 2").evaluate(with: 3))
        #expect(try MetadataPredicate(format: "SELF.@count == 2").evaluate(with: [1, 2]))
        #expect(try MetadataPredicate(format: "a.b == 2").evaluate(with: ["a": ["b": 2]]))
    }

    @Test func `the attributes are listed with their positions`() throws {
        let predicate = try MetadataPredicate(format: "a == 1 OR %K.length > b.c OR SELF.d == SELF", arguments: ["é.x"])
        #expect(predicate.keys.map(\.name) == ["a", "é", "b", "d"])
        #expect(predicate.keys.map(\.offset) == [0, 10, 22, 29])
    }
}

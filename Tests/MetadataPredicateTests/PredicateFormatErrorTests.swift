import MetadataPredicate
import Testing

@Suite struct PredicateFormatErrorTests {
    static func error(_ format: String, _ arguments: [Any?] = []) -> PredicateFormatError? {
        do throws(PredicateFormatError) {
            _ = try MetadataPredicate(format: format, arguments: arguments)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        ("", 0, "the predicate is empty: write TRUEPREDICATE for all items"),
        ("a", 1, "a comparison is missing before the end: write for example == or CONTAINS"),
        ("a == 1 AND b", 12, "a comparison is missing before the end: write for example == or CONTAINS"),
        ("(a) AND b == 1", 4, "a comparison is missing before \"AND\": write for example == or CONTAINS"),
        ("a == 1 b == 2", 7, "unexpected \"b\": join comparisons with AND or OR"),
        ("a == 1)", 6, "unexpected \")\": join comparisons with AND or OR"),
        ("(a == 1", 7, "a closing parenthesis is missing before the end"),
        (
            "a STARTSWITH 'x'", 2,
            "unknown operator \"STARTSWITH\": write for example ==, CONTAINS, BEGINSWITH, LIKE or IN"
        ),
        ("a == 'x", 5, "a text that begins here has no end: close it with '"),
        ("a == 'x\\d'", 7, #"unknown escape: write \\ for a backslash"#),
        ("a == '\\u00g0'", 6, "write 4 hexadecimal digits after this escape"),
        ("a == '\\ud800'", 6, "this escape is not a character: write the character itself"),
        ("a == $LIMIT", 5, "variables are not supported: pass the value as an argument, with the placeholder %@"),
        ("a + 1 == 2", 2, "arithmetic is not supported: compute the value, and pass it with %@"),
        ("a == 1 + 2", 7, "unexpected \"+\": join comparisons with AND or OR"),
        ("a[0] == 1", 1, "indexes are not supported: write a key path, for example a.@count"),
        ("now() > a", 0, "functions are not supported: compute the value, and pass it with %@"),
        (
            "SUBQUERY(a, $x, $x == 1).@count > 0", 0,
            "SUBQUERY is not supported: compute the value, and pass it with %@"
        ),
        ("a ==[x] 1", 5, "unknown option \"x\": after [ write c, d, cd, n or l, and then ]"),
        ("a ==[cx] 1", 6, "unknown option \"x\": after [ write c, d, cd, n or l, and then ]"),
        ("a ==[] 1", 5, "after [ write c, d, cd, n or l, and then ]"),
        ("a ==[c 1", 7, "after [ write c, d, cd, n or l, and then ]"),
        (
            "a ==", 4,
            "a value is missing before the end: write an attribute's name, a number, a text in quotes or a placeholder"
        ),
        (
            "a == AND", 5,
            "\"AND\" is a reserved word, and a value is missing before it: for an attribute of this name write #AND"
        ),
        ("a. == 1", 3, "after a dot write a key, for example length or @count"),
        ("a.@median == 1", 2, "unknown collection operator @median: write one of @count, @min, @max, @sum, @avg"),
        ("@count == 1", 0, "a collection operator follows a key path: write for example a.@count"),
        ("a IN {1, 2", 10, "in a list write , or } before the end"),
        ("a IN {1 2}", 8, "in a list write , or } before 2"),
        ("a IN (1, 2)", 7, "write a list in braces: {1, 2}"),
        ("a IN 5", 5, "IN takes a list or a text: {\"a\", \"b\"}"),
        ("a BETWEEN {1}", 10, "BETWEEN takes a list of two values: {1, 10}"),
        ("a BETWEEN 1", 10, "BETWEEN takes a list of two values: {1, 10}"),
        ("a LIKE 5", 7, "this operator takes a text, for example \"report\""),
        ("a MATCHES '('", 10, "not a regular expression: check its parentheses, brackets and escapes"),
        ("a MATCHES ')('", 10, "not a regular expression: check its parentheses, brackets and escapes"),
        ("a == %z", 5, "unknown placeholder: write %@, %K, %d or %f"),
        ("a == %%", 5, "write a percent sign in quotes: \"%\""),
        ("a == %@", 5, "there is no argument for this placeholder: 0 given, this one needs another"),
        ("a == ;", 5, "; has no meaning here: write texts in quotes"),
        ("a == # b", 5, "after # write the name of an attribute"),
        ("a == -b", 5, "after a minus sign write a number"),
        ("a == 1e", 5, "not a number: write one as in 1.5e3"),
        ("a == 0x", 5, "not a hexadecimal number of at most 64 bits"),
        ("é == 1 ü == 2", 7, "unexpected \"ü\": join comparisons with AND or OR"),
    ])
    func `an unknown construct is refused with its position`(_ format: String, _ offset: Int, _ sentence: String) {
        let error = Self.error(format)
        #expect(error?.offset == offset)
        #expect(error?.sentence == sentence)
    }

    @Test func `an argument of the wrong type is refused at its placeholder`() {
        #expect(
            Self.error("a == %d", ["x"])?.description == "the argument of %d is not an integer: write %@, at offset 5")
        #expect(Self.error("a == %d", [1.5])?.sentence == "the argument of %d is not an integer: write %@")
        #expect(Self.error("a == %f", [nil])?.sentence == "the argument of %f is not a number: write %@")
        #expect(
            Self.error("%K == 1", [5])?.sentence == "the argument of %K is not an attribute's name: write %@ for values"
        )
        #expect(
            Self.error("%K == 1", ["a..b"])?.sentence == "a key path with an empty key: write names between the dots")
        #expect(Self.error("a LIKE %@", [5])?.offset == 7)
        #expect(
            Self.error("a == %@ AND b == %@", [1])?.sentence
                == "there is no argument for this placeholder: 1 given, this one needs another")
    }

    @Test func `nesting is limited`() {
        let limit = MetadataPredicate.nestingLimit
        func nested(_ depth: Int) -> String {
            String(repeating: "(", count: depth) + "a == 1" + String(repeating: ")", count: depth)
        }
        #expect(Self.error(nested(limit)) == nil)
        #expect(Self.error(nested(limit + 1))?.offset == limit + 1)
        #expect(Self.error(String(repeating: "!", count: limit + 1) + "a == 1")?.offset == limit + 1)
        #expect(Self.error("a == " + String(repeating: "{", count: limit + 1))?.offset == 5 + limit + 1)
    }
}

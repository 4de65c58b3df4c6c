import Model
import Testing

@Suite struct MetadataAttributeTests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0), ("2026-01-31T12:00:00.5Z", 1_769_860_800_500_000_000),
        ("2024-02-29T23:59:59.000000001Z", 1_709_251_199_000_000_001), ("1969-12-31T23:59:59.750Z", -250_000_000),
    ])
    func `times are read in the form in which they are written`(_ text: String, _ nanoseconds: Int64) throws {
        let time = try #require(Timestamp(rfc3339: text))
        #expect(time.rawValue == nanoseconds)
        #expect(Timestamp(rfc3339: time.rfc3339) == time)
    }

    @Test(arguments: [
        "", "2026-01-31", "2026-01-31T12:00:00", "2026-01-31T12:00:00.Z", "2026-13-31T12:00:00Z",
        "2026-01-31 12:00:00Z", "2026-01-31T12:00:00+01", "2026-01-31T12:00:00.1234567890Z", "２026-01-31T12:00:0Z",
    ])
    func `other times are not read`(_ text: String) { #expect(Timestamp(rfc3339: text) == nil) }

    @Test func `a uniform type conforms to its ancestors, an unknown one to data or to packages`() {
        #expect(
            UniformType.tree(of: "public.heic").starts(with: ["public.heic", "public.heif-standard", "public.image"]))
        #expect(UniformType.tree(of: "x") == ["x", "public.data", "public.item"])
        #expect(
            UniformType.tree(of: "x", isDirectory: true)
                == ["x", "com.apple.package", "public.directory", "public.item"])
        #expect(UniformType.tree(of: "public.item") == ["public.item"])
    }
}

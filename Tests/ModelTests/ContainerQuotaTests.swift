import Model
import Testing

@Suite struct ContainerQuotaTests {
    @Test(arguments: [
        ("1", Int64(1)), ("1000", 1000), ("1K", 1024), ("20M", 20 << 20), ("50G", 50 << 30), ("3T", 3 << 40),
        ("4096P", 1 << 62), ("4611686018427387904", 1 << 62), ("0001", 1),
    ])
    func `a size is a whole number of bytes, or of a power of 1024`(text: String, byteCount: Int64) {
        #expect(ContainerQuota(text)?.byteCount == byteCount)
    }

    @Test(arguments: [
        "", "0", "0G", "-1", "+1", "1.5G", "50g", "50GB", "50 G", "G", "none", "0x10", "٣G", "4611686018427387905",
        "4097P", "9223372036854775807P", "99999999999999999999",
    ])
    func `any other text, and a size out of range, is no quota`(text: String) {
        #expect(ContainerQuota(text) == nil)
    }
}

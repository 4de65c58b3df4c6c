import Testing

@testable import Daemon

/// What a daemon's environment says to its C library, by processor.
@Suite struct MemoryCopiesTests {
    @Test func `on processors of AMD memory is not copied with an instruction that is slow there`() {
        let processors = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\n"
        let setting = MemoryCopies.setting(besides: nil, processors: processors)
        #expect(setting == "GLIBC_TUNABLES=glibc.cpu.x86_rep_movsb_threshold=1073741824")
    }

    @Test func `on others, and where nothing is known of them, the C library decides`() {
        for processors in ["vendor_id\t: GenuineIntel\n", "CPU implementer\t: 0x41\n", ""] {
            #expect(MemoryCopies.setting(besides: nil, processors: processors) == nil)
        }
    }

    @Test func `what the user has set stays`() {
        #expect(MemoryCopies.setting(besides: "glibc.malloc.check=3", processors: "AuthenticAMD") == nil)
    }
}

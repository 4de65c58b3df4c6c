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

    @Test func `only a daemon in the foreground starts anew`() {
        #expect(MemoryCopies.servesInForeground(["dewpoint", "mount", "--foreground", "notes"]))
        #expect(MemoryCopies.servesInForeground(["dewpoint", "mount", "-o", "ro", "--foreground", "--", "a"]))
        let others = [
            ["dewpoint", "mount", "notes"], ["dewpoint", "mount", "--", "--foreground"], ["dewpoint"], [],
            ["dewpoint", "status", "--foreground"],
        ]
        for arguments in others { #expect(!MemoryCopies.servesInForeground(arguments)) }
    }

    @Test func `what the user has set stays`() {
        #expect(MemoryCopies.setting(besides: "glibc.malloc.check=3", processors: "AuthenticAMD") == nil)
    }
}

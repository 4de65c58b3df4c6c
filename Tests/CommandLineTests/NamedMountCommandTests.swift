import ArgumentParser
import Testing

@testable import dewpoint

@Suite struct NamedMountCommandTests {
    private func refusal(_ arguments: String...) -> String? {
        do {
            _ = try MountCommand.parse(arguments)
            return nil
        } catch {
            return MountCommand.message(for: error)
        }
    }

    @Test func `mount takes a name, a URL with a mountpoint, or --all`() {
        #expect(refusal("notes") == nil && refusal("notes", "/mnt/notes") == nil)
        #expect(refusal("s3://bucket/notes", "/mnt/notes") == nil && refusal("--all") == nil)
        #expect(refusal() == "give the name of a mount (dewpoint list), or a container URL and a mountpoint")
        #expect(refusal("s3://bucket/notes") == "give a directory to mount s3://bucket/notes on")
        #expect(refusal("--all", "notes") == "give either --all or what to mount")
        #expect(refusal("--all", "--foreground") == "--foreground is for one mount; use it without --all")
    }

    @Test func `the list of mounts has aligned columns`() throws {
        #expect(
            ListCommand.table([]) == "NAME  MOUNTED  AUTOSTART  MOUNTPOINT  URL")
    }
}

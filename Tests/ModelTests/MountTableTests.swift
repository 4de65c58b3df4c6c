import Model
import Testing

@Suite struct MountTableTests {
    private let table = MountTable(
        text: """
            22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
            40 22 0:39 / /mnt/notes rw,nosuid shared:7 - fuse.dewpoint dewpoint rw,user_id=1000,group_id=1000,allow_other
            41 40 0:50 / /mnt/notes/other rw - tmpfs none rw
            42 22 0:41 / /mnt/two\\040words\\134x rw - fuse.dewpoint dewpoint rw,user_id=0,group_id=0
            43 22 0:39 /Documents /srv/docs rw - fuse.dewpoint dewpoint rw,user_id=1000,group_id=1000
            not a line of the table
            """)

    @Test func `a path below a mountpoint belongs to its container`() throws {
        let found = try #require(table.container(of: "/mnt/notes/Documents/a b.txt"))
        #expect(found.mount.mountpoint == "/mnt/notes")
        #expect(found.mount.owner == 1000)
        #expect(found.path == "Documents/a b.txt")
    }

    @Test func `a mount is read-only by its own options or by those of the filesystem`() {
        func isReadOnly(_ mount: String, _ filesystem: String) -> Bool? {
            MountTable(text: "40 22 0:39 / /mnt \(mount) - fuse.dewpoint dewpoint \(filesystem)").entries.first?
                .isReadOnly
        }
        #expect(isReadOnly("rw,nosuid", "rw,user_id=0") == false)
        #expect(isReadOnly("ro,nosuid", "rw,user_id=0") == true)
        #expect(isReadOnly("rw,nosuid", "ro,user_id=0") == true)
    }

    @Test func `the mountpoint itself is the root of the container`() throws {
        #expect(try #require(table.container(of: "/mnt/notes")).path == "")
    }

    @Test(arguments: ["/mnt", "/", "/mnt/notesX/a", "/mnt/notes/other/a"])
    func `a path on another file system belongs to no container`(path: String) {
        #expect(table.container(of: path) == nil)
    }

    @Test func `escaped bytes of a mountpoint are decoded`() throws {
        #expect(try #require(table.container(of: "/mnt/two words\\x/a")).mount.mountpoint == "/mnt/two words\\x")
    }

    @Test func `a path in a bind mount is mapped to the mountpoint of the container`() throws {
        let found = try #require(table.container(of: "/srv/docs/a"))
        #expect(found.mount.mountpoint == "/mnt/notes")
        #expect(found.path == "Documents/a")
    }

    @Test func `each container is listed once`() {
        #expect(table.containers.map(\.mountpoint) == ["/mnt/notes", "/mnt/two words\\x"])
    }

    @Test func `the owner of a mount and allow_other are parsed`() {
        #expect(table.containers.map(\.owner) == [1000, 0])
        #expect(table.containers.map(\.admitsOthers) == [true, false])
    }

    @Test func `mountpoints that differ only in Unicode normalization are distinct`() {
        let table = MountTable(text: "40 22 0:39 / /mnt/e\u{301} rw - fuse.dewpoint dewpoint rw")
        #expect(table.container(of: "/mnt/\u{e9}/a") == nil)
    }

    @Test func `the upper one of two mounts at the same path hides the lower one`() {
        let table = MountTable(
            text: """
                40 22 0:39 / /mnt rw - fuse.dewpoint dewpoint rw
                41 40 0:50 / /mnt rw - tmpfs none rw
                """)
        #expect(table.mount(at: "/mnt")?.type == "tmpfs")
        #expect(table.mount(at: "/mnt")?.minorDevice == "50")
        #expect(table.mount(at: "/mnt/a") == nil)
    }

    @Test func `the type of a file system is found by its device number`() {
        #expect(table.type(ofDevice: 254 << 8) == "ext4")
        // The bits of a minor number above 255 are on both sides of the major number.
        let wide = MountTable(text: "22 1 8:300 / / rw - xfs /dev/x rw")
        #expect(wide.type(ofDevice: 8 << 8 | 300 & 0xff | (300 & ~0xff) << 12) == "xfs")
        #expect(table.type(ofDevice: 1) == nil)
    }
}

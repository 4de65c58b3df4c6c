import Foundation
import Model
import Testing

extension RealMount {
    /// The helper with which the kernel reads and writes the files of an ordinary user's mount by itself.
    @Suite("Backing helper", .needs("setcap"), .needsRoot(to: "give a program a capability")) struct BackingHelper {
        /// Runs a script as an ordinary user: `$1` is the helper with its capability, `$2` the program under test, `$3` a
        /// directory that he may enter.
        private func run(_ script: String) async throws -> String {
            let binary = try Requirement.builtBinary()
            return try await Command.script(
                #"""
                set -e
                place=$(mktemp -d /tmp/dewpoint-backing-XXXXXX); chmod 755 $place
                cleaning() { chattr -a $place/append 2>/dev/null || true; rm -rf --one-file-system $place; }
                trap cleaning EXIT
                install -m 755 "$1-backing" $place/helper; setcap cap_sys_admin+ep $place/helper
                cp "$2"/*.py $place
                printf '%s' "$3" > $place/script
                echo foreign > $place/foreign; chmod 666 $place/foreign
                echo append > $place/append; chown 64999 $place/append
                # Not every disk has that.
                chattr +a $place/append 2>/dev/null || rm $place/append
                timeout 240 "$4/scripts/as-user" bash -e $place/script $place/helper "$1" $place
                """#, binary, Requirement.sources + "/Tests/MountTests/Drivers", script, Requirement.sources,
                limit: .seconds(300))
        }

        @Test func `it registers what its caller may read and write anyway, and refuses everything else`() async throws
        {
            _ = try await run(#"python3 "$3/backing.py" "$1" "$3/foreign" "$3/append""#)
        }

        @Test
        func
            `with it the kernel reads an ordinary user's files, without it or when it dies the daemon does`()
            async throws
        {
            let printed = try await run(
                #"""
                export DEWPOINT_BACKING_HELPER=$1 binary=$2
                cd "$HOME"; mkdir remote mount
                trap '"$binary" unmount mount >/dev/null 2>&1 || fusermount3 -uz mount 2>/dev/null || true' EXIT
                reads() { "$binary" status mount --json | grep -o '"readMode" : "[a-z]*"'; }
                "$binary" container create file://$PWD/remote --id iCloud.org.dewpoint.Helper > /dev/null
                mounted() { "$binary" mount file://$PWD/remote mount --state $PWD/state; }
                mounted; reads
                head -c 3000000 /dev/urandom > mount/file; sha256sum < mount/file > sum
                exec 7<>mount/file
                pkill -KILL -u "$(id -u)" -f '^dewpoint-backing'
                sha256sum < mount/file | cmp - sum
                echo more > mount/more; cat mount/more; echo again > mount/file; cat <&7 | head -c 6
                exec 7<&-
                "$binary" check mount; "$binary" unmount mount
                DEWPOINT_BACKING_HELPER=/nowhere mounted; reads; cat mount/more; "$binary" status mount | grep -o 'passthrough not [^)]*'
                "$binary" unmount mount
                ! pgrep -u "$(id -u)" -f '^dewpoint-backing'
                """#)
            #expect(
                printed == """
                    "readMode" : "passthrough"
                    more
                    again
                    index, backing directory and container agree
                    "readMode" : "cached"
                    more
                    passthrough not available (needs CAP_SYS_ADMIN, as root has, or the helper of the package

                    """)
        }
    }
}

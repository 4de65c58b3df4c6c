import Foundation
import Testing

extension RealMount {
    @Suite("Ordinary programs") struct Programs {
        /// Runs a script on the mount, and `after` when everything is uploaded and evicted.
        private func run(_ script: String, after: String = "", limit: Duration = .seconds(120)) async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await Command.script(script, container.directory, limit: limit, in: a.point)
                try await a.sync(limit: .seconds(120))
                try await a.check()
                guard !after.isEmpty else { return }
                try await a.evict("")
                try await Command.script(after, container.directory, limit: limit, in: a.point)
            }
        }

        @Test(.needs("git")) func `git clones, merges, collects garbage and passes fsck`() async throws {
            let identity =
                "export GIT_AUTHOR_NAME=N GIT_AUTHOR_EMAIL=n@example.org GIT_COMMITTER_NAME=N GIT_COMMITTER_EMAIL=n@example.org;"
            try await run(
                identity + """
                    git init -q -b main ../origin; cp /usr/include/linux/*.h ../origin; git -C ../origin add .
                    git -C ../origin commit -qm first
                    git clone -q file://"$1"/origin clone; cd clone
                    for n in 1 2 3; do echo $n > file; git add file; git commit -qm "commit $n"; done
                    git branch side HEAD~2; git checkout -q side; git mv fuse.h moved.h; git commit -qm moved
                    git checkout -q main; git merge -q --no-edit side; git gc -q; git fsck --strict; git status --porcelain
                    """,
                after:
                    "cd clone; git fsck --strict; git log --stat > /dev/null; test -z \"$(git status --porcelain)\"; git push -q origin side"
            )
        }

        @Test(.needs("sqlite3"))
        func `an SQLite database passes its integrity check, also after eviction`() async throws {
            try await run(
                """
                sqlite3 db 'create table t (n integer primary key, b blob);'
                for n in $(seq 20); do
                  sqlite3 db "begin; with recursive c(x) as (select 1 union all select x+1 from c where x < 200)
                    insert into t (b) select randomblob(1000) from c; commit;"
                done
                sqlite3 db 'delete from t where n % 3 = 0; vacuum;'
                test "$(sqlite3 db 'pragma integrity_check')" = ok
                """,
                after:
                    "test \"$(sqlite3 db 'pragma integrity_check; select count(*) from t' | tr '\\n' ' ')\" = 'ok 2667 '"
            )
        }

        @Test(.needs("rsync")) func `rsync copies a tree into and out of the mount without differences`() async throws {
            try await run(
                """
                cp -a /usr/include/linux "$1/source"; cd "$1/source"; ln -s fuse.h link; ln fuse.h hard; mkdir empty
                setfattr -n user.colour -v green fuse.h; chmod 640 fs.h
                rsync -aHX "$1/source/" "$1/A/there"
                rsync -aHX "$1/A/there/" "$1/back"
                for copy in A/there back; do
                  test -z "$(rsync -aHX --checksum --delete --dry-run --itemize-changes "$1/source/" "$1/$copy/")"
                done
                """,
                after: "test -z \"$(rsync -aHX --checksum --delete --dry-run --itemize-changes \"$1/source/\" there/)\""
            )
        }

        @Test func `tar preserves holes, extended attributes and hard links`() async throws {
            try await run(
                """
                mkdir tree; cp -a /usr/include/linux/f*.h tree; truncate -s 100M tree/sparse; echo end >> tree/sparse
                setfattr -n user.colour -v green tree/fuse.h; ln -s fuse.h tree/link; ln tree/fuse.h tree/hard
                tar -S --xattrs --xattrs-include='user.*' -cf "$1/out.tar" tree
                test "$(stat -c %s "$1/out.tar")" -lt 20000000
                mkdir again; tar -S --xattrs --xattrs-include='user.*' -xf "$1/out.tar" -C again
                diff -r --no-dereference tree again/tree
                test "$(getfattr --only-values -n user.colour again/tree/fuse.h)" = green
                test "$(stat -c %h again/tree/fuse.h)" = 2
                """,
                after: """
                    tar -S --xattrs --xattrs-include='user.*' -cf "$1/placeholders.tar" tree
                    mkdir "$1/check"; tar -xf "$1/placeholders.tar" -C "$1/check"; diff -r --no-dereference tree "$1/check/tree"
                    """)
        }

        @Test(.needs("vim"), arguments: ["yes", "no", "auto"])
        func `vim saves with every setting of backupcopy`(backupCopy: String) async throws {
            try await run(
                """
                printf 'one\\ntwo\\n' > text; chmod 640 text; setfattr -n user.colour -v green text
                vim -Nu NONE -es -c 'set nobackup writebackup backupskip= backupcopy=\(backupCopy)' -c '%s/one/first/' -c 'wq' text < /dev/null
                vim -Nu NONE -es -c 'set backup writebackup backupskip= backupcopy=\(backupCopy)' -c '%s/two/second/' -c 'wq' text < /dev/null
                test "$(cat text)" = "$(printf 'first\\nsecond')"; test "$(stat -c %a text)" = 640
                test "$(cat text~)" = "$(printf 'first\\ntwo')"
                test -z "$(ls -A | grep -v -x -e text -e 'text~' || true)"
                """, after: "test \"$(cat text)\" = \"$(printf 'first\\nsecond')\"")
        }

        @Test(.needs("fio"), arguments: ["read-and-write", "mapped"])
        func `fio reads back what it wrote`(kind: String) async throws {
            let engine = kind == "mapped" ? "--ioengine=mmap" : "--ioengine=psync --fsync=64"
            try await run(
                """
                fio --name=random --directory=. --rw=randrw --bs=4k-64k --size=24m --numjobs=2 --verify=crc32c \
                    --verify_fatal=1 --minimal \(engine) > /dev/null
                fio --name=ordered --directory=. --rw=write --bs=128k --size=64m --verify=sha256 --verify_fatal=1 \
                    --minimal \(engine) > /dev/null
                """)
        }

        @Test(.needs("stress-ng")) func `stress-ng's file system stressors find no errors`() async throws {
            let stressors = [
                "access", "chdir", "chmod", "chown", "copy-file", "dentry", "dir", "dup", "fallocate", "fcntl",
                "file-ioctl",
                "filename", "flock", "fpunch", "fstat", "getdent", "hdd", "lease", "link", "locka", "lockf", "lockofd",
                "mknod", "open", "readahead", "rename", "seek", "sendfile", "symlink", "sync-file", "touch", "utime",
                "verity", "xattr",
            ]
            // One at a time in long runs, otherwise all at once.
            try await RealMount.stress(with: Requirement.long ? stressors.map { [$0] } : [stressors])
        }

        @Test(
            .enabled(
                if: FileManager.default.fileExists(atPath: "/usr/lib/python3.11/test/test_os.py"),
                "Python's own tests are not installed"))
        func `Python's own tests pass, except those for names that are not UTF-8`() async throws {
            try await MountedContainer.with { container in
                let tests = [
                    "test_os", "test_shutil", "test_tempfile", "test_zipfile", "test_mailbox", "test_mmap",
                    "test_fcntl",
                    "test_posix", "test_pathlib", "test_sqlite3",
                ]
                let mounted = try await failures(tests, in: container.a.path("python")).filter {
                    !$0.contains("Pep383Tests")
                }
                guard !mounted.isEmpty else { return }
                // Tests that also fail on the local disk say nothing about the mount.
                let local = try await failures(tests, in: container.directory + "/local")
                #expect(mounted.subtracting(local).isEmpty, "\(mounted.subtracting(local).sorted())")
            }
        }

        /// The tests that fail with temporary files in `directory`.
        private func failures(_ tests: [String], in directory: String) async throws -> Set<String> {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            let result = try await Command.run(
                ["/usr/bin/python3", "-m", "test", "--verbose3", "--tempdir", directory] + tests, limit: .seconds(400),
                in: directory,
                environment: ["TMPDIR": directory])
            try #require(result.status != Command.timedOut, "\(result.output.suffix(2000))")
            let lines = (result.output + "\n" + result.errors).split(separator: "\n")
            return Set(lines.filter { $0.hasPrefix("FAIL: ") || $0.hasPrefix("ERROR: ") }.map(String.init))
        }

        @Test(.needsRoot(to: "become an ordinary user"))
        func `an ordinary user mounts through fusermount3`() async throws {
            try await MountedContainer.with(devices: []) { container in
                // In a mount namespace of its own, with a /dev/fuse that everyone may open, as desktops have it.
                try await Command.script(
                    #"""
                    chown -R 65534:65534 "$1"; chmod 755 "$1"; mkdir -m 777 "$1/u"; cp "$2" "$1/dewpoint"
                    mknod --mode=666 "$1/fuse" c 10 229
                    unshare --mount bash -euo pipefail -c '
                        mount --bind "$1/fuse" /dev/fuse
                        as() { setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$1" "${@:2}"; }
                        as "$1" "$1/dewpoint" mount "$2" "$1/u" --state "$1/state-u"
                        trap "umount --lazy $1/u 2>/dev/null || true" EXIT
                        as "$1" bash -euo pipefail -c "$3" bash "$1"
                        as "$1" "$1/dewpoint" unmount "$1/u"
                    ' bash "$1" "$3" '
                        cd "$1/u"; cp -r /usr/include/linux/netfilter .; diff -r /usr/include/linux/netfilter netfilter
                        echo text > f; python3 -c "
                    import mmap
                    with open(\"f\", \"r+b\") as f, mmap.mmap(f.fileno(), 0) as m: m[0:4] = b\"TEXT\""
                        test "$(cat f)" = TEXT
                        "$1/dewpoint" sync "$1/u" --wait; "$1/dewpoint" evict f
                        test "$(getfattr -n user.dewpoint.downloadingStatus --only-values f)" = NotDownloaded
                        test "$(cat f)" = TEXT
                    '
                    """#, container.directory, container.binary, container.url, limit: .seconds(120),
                    environment: container.environment)
            }
        }
    }

    /// Programs that open every mount of the machine, and so keep mounts of other tests from being unmounted.
    @Suite("Programs that open all mounts") struct AllMounts {
        @Test(.needs("stress-ng"))
        func `stress-ng's io stressor, which syncs all file systems, finds no errors`() async throws {
            try await RealMount.stress(with: [["io"]])
        }
    }

    /// Runs stress-ng's stressors on a mount, one set after the other.
    fileprivate static func stress(with runs: [[String]]) async throws {
        try await MountedContainer.with { container in
            for run in runs {
                let result = try await Command.run(
                    ["stress-ng", "--verify", "--timeout", "20s", "--temp-path", container.a.point]
                        + run.flatMap { ["--" + $0, "1"] }, limit: .seconds(120))
                // 3, 4, 6: stressors that this kernel or this file system cannot run, which is not a failure.
                #expect(
                    [0, 3, 4, 6].contains(result.status), "\(run): \(result.status)\n\(result.output)\(result.errors)")
            }
            // The stressors may have removed so much at once that the deletions are held.
            let confirmed = try await Command.run(
                [container.binary, "confirm", container.a.point], environment: container.environment)
            #expect(
                confirmed.succeeded || confirmed.errors.contains("no deletions are held"), "\(confirmed.errors)")
            try await container.a.sync(limit: .seconds(120))
            try await container.a.check()
        }
    }
}

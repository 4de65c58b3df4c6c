import Foundation
import Programs
import Testing

/// `scripts/restore.py` on containers that were made to mislead or to stop it: it says what it could not read, restores
/// the rest, and takes neither much time nor much memory.
@Suite(.timeLimit(.minutes(5))) struct RestoreScriptTests {
    /// What hostile containers can hold at most, in MiB of memory, and in seconds on a busy machine.
    private static let memoryLimit = 400
    private static let timeLimit = 60

    /// Makes containers: each has a directory `kept` in its first commit, as long as that is readable.
    private static let maker = """
        import gzip, hashlib, json, os, sqlite3, struct, sys, uuid, zlib
        ROOT, COMMIT, SNAPSHOT = "00000000-0000-0000-0000-000000000000", "log/%020d", "snapshot/%020d"
        new = lambda: str(uuid.uuid4())
        def record(**members):
            return {"id": new(), "parent": ROOT, "name": "kept", "kind": "directory", "mode": 0o755, "modified": 1,
                    "size": 0, "xattrs": {}, "device": new(), "base": 0, **members}
        def write(key, data):
            os.makedirs(os.path.dirname(key) or ".", exist_ok=True)
            with open(key, "wb") as file: file.write(data)
        def commit(number, *records):
            members = {"format": 1, "sequence": number, "device": new(), "deviceName": "x", "time": 1, "nonce": new(),
                       "records": records, "tombstones": []}
            write(COMMIT % number, gzip.compress(json.dumps(members).encode()))
        def snapshot(script):
            database = sqlite3.connect("database")
            database.executescript("CREATE TABLE meta(key TEXT PRIMARY KEY NOT NULL, value);"
                "CREATE TABLE xattrs(item BLOB NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL);" + script)
            values = {"format": 1, "container": "x", "number": 2, "device": new(), "items": 1, "time": 1}
            database.executemany("INSERT INTO meta VALUES(?, ?)", values.items())
            database.commit()
            database.close()
            with open("database", "rb") as file: data = file.read()
            os.remove("database")
            packer = zlib.compressobj(9, zlib.DEFLATED, -15)
            write(SNAPSHOT % 2, b"\\x1f\\x8b\\x08\\x10\\0\\0\\0\\0\\0\\xff" + hashlib.sha256(data).hexdigest().encode() + b"\\0"
                + packer.compress(data) + packer.flush() + struct.pack("<II", zlib.crc32(data), len(data) & 0xffffffff))
            write(COMMIT % 1, b"")
        COLUMNS = "item, parent, name, kind, mode, modified, size, target, content, manifest"
        TABLE = f"CREATE TABLE items({COLUMNS});"
        ROW = "randomblob(16) item, zeroblob(16) parent, 'a' name, 1 kind, 1 mode, 1 modified, 0 size, NULL target"
        COUNT = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c"

        def link_in_log(): os.symlink("/nowhere", "log/x")
        def link_as_log(): os.rename("log", "old"); os.symlink("/nowhere", "log")
        def link_as_commit(): os.symlink("/nowhere", COMMIT % 2)
        def pipe_as_commit(): os.mkfifo(COMMIT % 2)
        def pipe_as_identity(): os.remove("container.json"); os.mkfifo("container.json")
        def pipe_as_pack():
            pack = new()
            os.makedirs("packs")
            os.mkfifo("packs/" + pack)
            runs = [{"pack": pack, "offset": 0, "chunks": [{"byteCount": 5, "hash": "0" * 64}]}]
            commit(2, record(name="f", kind="file", size=5, content={"runs": runs}))
        def device_as_commit(): os.symlink("/dev/zero", COMMIT % 2)
        def no_log(): os.rename("log", "old"); write("packs/" + new(), b"bytes")
        def zeros(): write(COMMIT % 2, gzip.compress(bytes(250 << 20)))
        def brackets(): write(COMMIT % 2, gzip.compress(b"[" * (60 << 20)))
        def records(): write(COMMIT % 2, gzip.compress(b'{"records":[' + b"{}," * (20 << 20)))
        def holes():
            text = b'{"runs":[' + b",".join([b'{"zeros":1048576}'] * 1_600_000) + b"]}"
            digest = hashlib.sha256(text).hexdigest()
            write("manifests/" + digest, gzip.compress(text, 1))
            content = {"manifest": digest}
            commit(2, record(name="right", kind="file", size=1_600_000 << 20, content=content),
                   record(name="wrong", kind="file", size=5, content=content))
        def deep():
            items, parent = [], ROOT
            for _ in range(5000):
                items.append(record(parent=parent, name="n" * 255))
                parent = items[-1]["id"]
            # Its bytes are missing, so its path is reported.
            runs = [{"pack": new(), "offset": 0, "chunks": [{"byteCount": 5, "hash": "0" * 64}]}]
            items += [record(parent=parent, name=f"f{i}", kind="file", size=5, content={"runs": runs}) for i in range(2000)]
            commit(2, *items)
        def endless_view(): snapshot(f"CREATE VIEW items AS {COUNT}) SELECT {ROW}, NULL content, NULL manifest FROM c;")
        def endless_column():
            snapshot(TABLE + f"ALTER TABLE items ADD COLUMN g AS (hex(name)); INSERT INTO items({COLUMNS}) "
                     f"SELECT {ROW}, NULL, NULL;")
        def snapshot_bomb(): snapshot(TABLE + f"CREATE TABLE z(a); {COUNT} WHERE x < 300) INSERT INTO z SELECT "
                                      "zeroblob(1000000) FROM c;")

        os.makedirs(sys.argv[2] + "/log")
        os.chdir(sys.argv[2])
        settings = {"documentScopePublic": True, "folderLevels": "any", "name": "x"}
        identity = {"created": 1, "format": 1, "id": "iCloud.x", "settings": settings, "uuid": new()}
        write("container.json", json.dumps(identity).encode())
        commit(1, record())
        globals()[sys.argv[1]]()
        """

    /// Runs the script, and says how much memory it took.
    private static let runner = """
        import resource, subprocess, sys
        status = subprocess.call(sys.argv[1:])
        print("MEMORY", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)
        sys.exit(status)
        """

    private static let script = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../scripts/restore.py").standardizedFileURL.path

    @Test(
        arguments: [
            "link_in_log", "link_as_log", "link_as_commit", "pipe_as_commit", "pipe_as_identity", "pipe_as_pack",
            "device_as_commit", "no_log", "zeros", "brackets", "records", "holes", "deep", "endless_view",
            "endless_column", "snapshot_bomb",
        ])
    func `what cannot be read is counted, and the rest is restored`(_ kind: String) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "restore-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let (container, output) = ("\(directory)/container", "\(directory)/output")
        let made = try await Program.result(of: ["python3", "-c", Self.maker, kind, container])
        try #require(made.status == 0, "\(made.errors)")
        let result = try await Program.result(of: [
            "timeout", "\(Self.timeLimit)", "python3", "-c", Self.runner, Self.script, container, output,
        ])
        #expect(result.status == 1, "\(result.output) \(result.errors.suffix(2000))")
        #expect(result.errors.contains("damaged: ") && !result.output.contains(" 0 damaged"), "\(result.output)")
        #expect(result.errors.utf8.count < 2 << 20)
        let memory = result.output.split(separator: "MEMORY ").last.flatMap {
            Int($0.trimmingCharacters(in: .newlines))
        }
        #expect(try #require(memory) < Self.memoryLimit, "MiB")
        // Where the log itself is not readable, nothing can be.
        let isLost = ["link_as_log", "no_log", "endless_view", "endless_column", "snapshot_bomb"].contains(kind)
        #expect(FileManager.default.fileExists(atPath: "\(output)/kept") == !isLost)
        // A path that deep is more than FileManager takes.
        _ = try await Program.result(of: ["rm", "-rf", output])
    }
}

import GRDB

extension Replica {
    /// The newest form of the index that this program reads.
    package static var indexVersion: Int { IndexMigrations.migrator.migrations.count }
}

/// The numbered steps from an empty database to the current tables. A step that has shipped is never changed.
enum IndexMigrations {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { try $0.execute(sql: version1) }
        migrator.registerMigration("v2") { try $0.execute(sql: version2) }
        migrator.registerMigration("v3") { try $0.execute(sql: version3) }
        migrator.registerMigration("v4") { try $0.execute(sql: version4) }
        migrator.registerMigration("v5") { try $0.execute(sql: version5) }
        migrator.registerMigration("v6") { try $0.execute(sql: version6) }
        migrator.registerMigration("v7") { try $0.execute(sql: version7) }
        migrator.registerMigration("v8") { try $0.execute(sql: version8) }
        migrator.registerMigration("v9") { try $0.execute(sql: version9) }
        migrator.registerMigration("v10") { try $0.execute(sql: version10) }
        migrator.registerMigration("v11") { try $0.execute(sql: version11) }
        migrator.registerMigration("v12") { try $0.execute(sql: version12) }
        migrator.registerMigration("v13") { try $0.execute(sql: version13) }
        migrator.registerMigration("v14") { try $0.execute(sql: version14) }
        migrator.registerMigration("v15") { try $0.execute(sql: version15) }
        migrator.registerMigration("v16") { try $0.execute(sql: version16) }
        migrator.registerMigration("v17") { try $0.execute(sql: version17) }
        migrator.registerMigration("v18") { try $0.execute(sql: version18) }
        migrator.registerMigration("v19") { try $0.execute(sql: version19) }
        return migrator
    }

    // Times are nanoseconds since 1970. Contents and records are packed as in PackedRecord.swift, item ids are 16
    // bytes.
    private static let version1 = """
        CREATE TABLE meta(key TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;

        -- A local file. `here`: its bytes are in the backing directory; `backing`, `born`: the identity of what stands there
        -- (NULL: nothing), with the size, mtime and ctime that were last seen. `visited`: placeholders of a directory's
        -- entries, 0 none, 1 being written, 2 written. `settled`: the bytes of a clean file are known to be on the disk for good.
        CREATE TABLE inodes(
            id INTEGER PRIMARY KEY AUTOINCREMENT, kind INTEGER NOT NULL, mode INTEGER NOT NULL, owner INTEGER NOT NULL,
            grp INTEGER NOT NULL, links INTEGER NOT NULL, size INTEGER NOT NULL, blocks INTEGER NOT NULL,
            accessed INTEGER NOT NULL, modified INTEGER NOT NULL, changed INTEGER NOT NULL, device INTEGER NOT NULL,
            here INTEGER NOT NULL, backing INTEGER, born INTEGER, backing_modified INTEGER, backing_changed INTEGER,
            dirty INTEGER NOT NULL, generation INTEGER NOT NULL, visited INTEGER NOT NULL DEFAULT 0,
            settled INTEGER NOT NULL DEFAULT 0, target TEXT, content BLOB, incoming BLOB);
        CREATE INDEX inodes_orphans ON inodes(id) WHERE links = 0;
        CREATE INDEX inodes_unsettled ON inodes(settled) WHERE settled <> 1 AND here = 1 AND dirty = 0 AND kind = 0;

        -- A name in a directory and the cloud item that lives there. `base_parent` is the parent in `base`.
        CREATE TABLE entries(
            parent INTEGER NOT NULL, name TEXT NOT NULL COLLATE BINARY, inode INTEGER NOT NULL, item BLOB, base BLOB,
            base_number INTEGER NOT NULL DEFAULT 0, base_parent BLOB, pinned INTEGER,
            download_requested INTEGER NOT NULL DEFAULT 0, error TEXT, PRIMARY KEY(parent, name)) WITHOUT ROWID;
        CREATE INDEX entries_inode ON entries(inode);
        CREATE UNIQUE INDEX entries_item ON entries(item) WHERE item IS NOT NULL;
        CREATE INDEX entries_requested ON entries(inode) WHERE download_requested = 1;

        -- What waits to reach the container. A deletion has `deleted_base`.
        CREATE TABLE outbox(
            position INTEGER PRIMARY KEY AUTOINCREMENT, item BLOB NOT NULL UNIQUE, deleted_base INTEGER, base_parent BLOB);
        CREATE INDEX outbox_base_parent ON outbox(base_parent) WHERE base_parent IS NOT NULL;

        -- Where chunks are stored in the container, of everything uploaded from here.
        CREATE TABLE chunks(hash BLOB PRIMARY KEY NOT NULL, pack BLOB NOT NULL, offset INTEGER NOT NULL,
            bytes INTEGER NOT NULL) WITHOUT ROWID;

        CREATE TABLE xattrs(inode INTEGER NOT NULL, name TEXT NOT NULL COLLATE BINARY, value BLOB NOT NULL,
            PRIMARY KEY(inode, name)) WITHOUT ROWID;

        -- Downloads that are under way: the file in staging/downloads, its identity, and which chunks are in it.
        CREATE TABLE transfers(inode INTEGER PRIMARY KEY, file TEXT NOT NULL, backing INTEGER NOT NULL,
            born INTEGER NOT NULL, content BLOB NOT NULL, have BLOB NOT NULL);
        """

    private static let version2 = """
        -- Edits that lost against what is here and wait to be resolved; NULL for none.
        ALTER TABLE entries ADD COLUMN conflicts BLOB;

        -- States of items that the container held until something replaced or deleted them, for as long as they can be restored.
        CREATE TABLE history(\(historyColumns)) WITHOUT ROWID;
        CREATE INDEX history_replaced ON history(replaced);
        CREATE INDEX history_deleted ON history(item) WHERE deleted = 1;

        -- The human names of devices, as their newest commits have them.
        CREATE TABLE devices(\(devicesColumns)) WITHOUT ROWID;
        """
    static let historyColumns =
        "item BLOB NOT NULL, number INTEGER NOT NULL, replaced INTEGER NOT NULL, deleted INTEGER NOT NULL, "
        + "record BLOB NOT NULL, PRIMARY KEY(item, number)"
    static let devicesColumns = "device TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL"

    // Packs (16 bytes) and manifests (32) that no record may refer to, with the condemning commit and its time.
    private static let version3 = """
        CREATE TABLE condemned(\(condemnedColumns)) WITHOUT ROWID;
        """
    static let condemnedColumns = "object BLOB PRIMARY KEY NOT NULL, number INTEGER NOT NULL, time INTEGER NOT NULL"
}

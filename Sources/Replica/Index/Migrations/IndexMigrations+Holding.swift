extension IndexMigrations {
    /// What a user paused or excluded, and deletions that are held.
    static let version4 = """
        -- `paused`: neither its changes nor other devices' bytes move, for a directory of all that lies in it. `excluded`: it
        -- and what lies in it never leave this machine.
        ALTER TABLE entries ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE entries ADD COLUMN excluded INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX entries_paused ON entries(inode) WHERE paused = 1;

        -- Of a deletion: when it was made, and the record that was deleted, to bring the item back while it is held.
        ALTER TABLE outbox ADD COLUMN queued INTEGER;
        ALTER TABLE outbox ADD COLUMN base BLOB;
        CREATE INDEX outbox_deletions ON outbox(queued) WHERE deleted_base IS NOT NULL;
        """
}

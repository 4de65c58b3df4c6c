extension IndexMigrations {
    /// Counts over all items, kept by triggers: a status must not read a million rows.
    static let version10 = """
        -- One row. `items`: the names; `absent_items`: those of files that are not local; `files`, `bytes`: files that have a
        -- name, and their length; and how much of that is local.
        CREATE TABLE totals(items INTEGER NOT NULL, files INTEGER NOT NULL, local_files INTEGER NOT NULL,
            bytes INTEGER NOT NULL, local_bytes INTEGER NOT NULL, absent_items INTEGER NOT NULL);
        INSERT INTO totals SELECT (SELECT count(*) FROM entries), count(*), coalesce(sum(local), 0), coalesce(sum(size), 0),
            coalesce(sum(local * size), 0), coalesce(sum(links) FILTER (WHERE local = 0), 0) FROM inodes WHERE kind = 0 AND links > 0;

        CREATE TRIGGER totals_item_added AFTER INSERT ON entries BEGIN UPDATE totals SET items = items + 1; END;
        CREATE TRIGGER totals_item_removed AFTER DELETE ON entries BEGIN UPDATE totals SET items = items - 1; END;
        CREATE TRIGGER totals_file_added AFTER INSERT ON inodes WHEN NEW.kind = 0 AND NEW.links > 0 BEGIN
            UPDATE totals SET files = files + 1, local_files = local_files + NEW.local, bytes = bytes + NEW.size,
            local_bytes = local_bytes + NEW.local * NEW.size,
            absent_items = absent_items + (NEW.local = 0) * NEW.links;
        END;
        CREATE TRIGGER totals_file_removed AFTER DELETE ON inodes WHEN OLD.kind = 0 AND OLD.links > 0 BEGIN
            UPDATE totals SET files = files - 1, local_files = local_files - OLD.local, bytes = bytes - OLD.size,
            local_bytes = local_bytes - OLD.local * OLD.size,
            absent_items = absent_items - (OLD.local = 0) * OLD.links;
        END;
        CREATE TRIGGER totals_file_changed AFTER UPDATE OF links, size, local ON inodes
        WHEN OLD.kind = 0 AND (OLD.size <> NEW.size OR OLD.local <> NEW.local OR OLD.links <> NEW.links) BEGIN
            UPDATE totals SET files = files + (NEW.links > 0) - (OLD.links > 0),
            local_files = local_files + (NEW.links > 0) * NEW.local - (OLD.links > 0) * OLD.local,
            bytes = bytes + (NEW.links > 0) * NEW.size - (OLD.links > 0) * OLD.size,
            local_bytes = local_bytes + (NEW.links > 0) * NEW.local * NEW.size - (OLD.links > 0) * OLD.local * OLD.size,
            absent_items = absent_items + (NEW.local = 0) * NEW.links - (OLD.local = 0) * OLD.links;
        END;

        CREATE INDEX entries_conflicts ON entries(inode) WHERE conflicts IS NOT NULL;
        CREATE INDEX entries_errors ON entries(inode) WHERE error IS NOT NULL;
        """
}

extension IndexMigrations {
    /// What the container holds, kept by triggers: it is asked for by each statfs(2) of a mount with a quota.
    static let version12 = """
        -- One row. `bytes`: the sizes of the files and conflict versions of all records in `entries.base`, see RecordUsage.swift.
        CREATE TABLE usage(bytes INTEGER NOT NULL);
        INSERT INTO usage SELECT CAST(total(record_bytes(base)) AS INTEGER) FROM entries WHERE base IS NOT NULL;

        CREATE TRIGGER usage_added AFTER INSERT ON entries WHEN NEW.base IS NOT NULL BEGIN
            UPDATE usage SET bytes = bytes + record_bytes(NEW.base);
        END;
        CREATE TRIGGER usage_removed AFTER DELETE ON entries WHEN OLD.base IS NOT NULL BEGIN
            UPDATE usage SET bytes = bytes - record_bytes(OLD.base);
        END;
        CREATE TRIGGER usage_changed AFTER UPDATE OF base ON entries WHEN OLD.base IS NOT NEW.base BEGIN
            UPDATE usage SET bytes = bytes + record_bytes(NEW.base) - record_bytes(OLD.base);
        END;
        """
}

extension IndexMigrations {
    /// Positions in directories that stay, whatever is removed: programs seek to them.
    static let version15 = """
        -- The position of a name in its directory: of the listing's order, unique there, kept by the name until it is removed, and
        -- greater than those of all names that were there before it. A new row with 0 gets the next one.
        ALTER TABLE entries ADD COLUMN position INTEGER NOT NULL DEFAULT 0;
        UPDATE entries SET position = numbered.number FROM (
            SELECT parent, name, row_number() OVER (PARTITION BY parent ORDER BY name) AS number FROM entries
        ) AS numbered WHERE numbered.parent = entries.parent AND numbered.name = entries.name;
        CREATE INDEX entries_position ON entries(parent, position);
        CREATE TRIGGER entries_added AFTER INSERT ON entries WHEN NEW.position = 0 BEGIN
            UPDATE entries SET position = (SELECT max(position) + 1 FROM entries WHERE parent = NEW.parent)
            WHERE parent = NEW.parent AND name = NEW.name;
        END;
        CREATE TRIGGER entries_moved AFTER UPDATE OF parent ON entries WHEN OLD.parent <> NEW.parent BEGIN
            UPDATE entries SET position = (
                SELECT coalesce(max(position), 0) + 1 FROM entries WHERE parent = NEW.parent AND name <> NEW.name)
            WHERE parent = NEW.parent AND name = NEW.name;
        END;
        """
}

"""Which title leads to which page: the redirects of a wiki, on disk, since there may be millions."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

_SCHEMA = """
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    CREATE TABLE page (title TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE redirect (title TEXT PRIMARY KEY, target TEXT NOT NULL) WITHOUT ROWID;
    CREATE INDEX redirect_target ON redirect (target, title);
"""

# UNION, not UNION ALL: a title that was reached once is not followed again, so a loop ends
_ALIASES = """
    WITH RECURSIVE name (title) AS (
        SELECT ?1 UNION SELECT redirect.title FROM redirect JOIN name ON redirect.target = name.title
    )
    SELECT title FROM name WHERE title <> ?1 ORDER BY title
"""

_UNRESOLVED = """
    WITH RECURSIVE reached (title) AS (
        SELECT title FROM page
        UNION SELECT redirect.title FROM redirect JOIN reached ON redirect.target = reached.title
    )
    SELECT title, target FROM redirect WHERE title NOT IN (SELECT title FROM reached) ORDER BY title
"""


class Redirects:
    """A table of pages and redirects in a new file at `path`; close it when done."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path)
        self._connection.executescript(_SCHEMA)

    def close(self) -> None:
        self._connection.close()

    def add_page(self, title: str) -> None:
        """A page that becomes a document."""
        self._connection.execute("INSERT OR IGNORE INTO page VALUES (?)", (title,))

    def add_redirect(self, title: str, target: str) -> None:
        """A page that only points to another; of two with one title the first counts."""
        self._connection.execute("INSERT OR IGNORE INTO redirect VALUES (?, ?)", (title, target))

    def aliases(self, title: str) -> tuple[str, ...]:
        """All titles that lead to the page, over any number of steps, sorted."""
        return tuple(alias for (alias,) in self._connection.execute(_ALIASES, (title,)))

    def unresolved(self) -> Iterator[tuple[str, str]]:
        """Title and immediate target of each redirect that leads to no page, by title."""
        with closing(self._connection.cursor()) as cursor:
            yield from cursor.execute(_UNRESOLVED)

"""Tables that people read in metadata."""

from assets.tables import SHOWN_ROWS, markdown_table, open_table


def test_a_cell_cannot_break_its_table() -> None:
    assert markdown_table(("a", "b"), [("1|2\n3", "\\")]).value == "| a | b |\n| --- | --- |\n| 1\\|2 3 | \\\\ |"


def test_an_open_table_has_a_record_for_every_row() -> None:
    table = open_table("faults", ("shard", "problem"), [("docs-000", 3)])["faults"]
    assert [record.data for record in table.records] == [{"shard": "docs-000", "problem": "3"}]
    assert [column.name for column in table.schema.columns] == ["shard", "problem"]


def test_there_is_no_open_table_without_rows() -> None:
    assert open_table("faults", ("shard",), []) == {}


def test_a_long_table_is_cut_and_says_how_much_is_missing() -> None:
    rows = [(str(number), "") for number in range(SHOWN_ROWS + 5)]
    records = open_table("faults", ("shard", "problem"), rows)["faults"].records
    assert len(records) == SHOWN_ROWS + 1
    assert records[-1].data == {"shard": "and 5 more", "problem": ""}
    assert "and 5 more" in str(markdown_table(("shard", "problem"), rows).value)

"""What promotion does to primary recall, measured as it is published."""

from pathlib import Path

import pytest

from bench.self_reference import ask_everything, split_result, squad_workspace, summary


@pytest.mark.slow
def test_supplementary_takes_no_primary_place_and_leaves_held_out_recall_where_it_was(
    tmp_path: Path, shared_data: Path
) -> None:
    workspace, questions = squad_workspace(shared_data, tmp_path, "xquad")
    assert ask_everything(workspace, questions) > len(questions) / 2
    rows = summary([split_result(workspace, questions, tmp_path, seed) for seed in range(5)])
    change = {(row["mode"], row["half"], row["cut_off"]): row["change_in_points"] for row in rows}
    assert change["supplementary", "held-out", 1] >= -0.5
    assert change["supplementary", "re-asked", 1] >= 0
    assert change["weighted", "held-out", 1] < -10
    assert all((row["places_taken"] > 0) == (row["mode"] == "weighted") for row in rows)

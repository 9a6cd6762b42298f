"""The command, a few times in a process of its own: what it prints, what it writes, and how it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.cli import output
from tests.helpers.command import Command, RealCommand, as_csv, frame


def test_help_and_version_do_not_import_what_is_slow(real_command: RealCommand) -> None:
    check = (
        "import sys\n"
        "import jaxbn.cli\n"
        "slow = {'jax', 'pandas', 'numpy', 'matplotlib', 'networkx', 'scipy'} & set(sys.modules)\n"
        "assert not slow, slow\n"
    )
    subprocess.run([sys.executable, "-c", check], check=True, env=real_command.environment)
    assert real_command("--version").stdout == f"jaxbn {jaxbn.__version__}\n"
    shown = real_command("--help")
    assert shown.returncode == 0
    for name in (
        "learn",
        "discretize",
        "query",
        "predict",
        "score",
        "evaluate",
        "sample",
        "impute",
        "export",
        "report",
        "datasets",
        "paper",
    ):
        assert name in shown.stdout


def test_learn_writes_model_and_report_and_keeps_existing_files(real_command: RealCommand) -> None:
    data = real_command.has("table.csv", as_csv(frame()))
    done = real_command("learn", data, "--folds", "3", "--max-parents", "1")
    assert done.returncode == 0, done.stderr
    assert "kind" in done.stdout
    assert "equal width" in done.stdout
    assert "string column" in done.stderr  # what was inferred
    net = jaxbn.load(real_command.folder / "table.jaxbn.json")
    assert set(net.names) == {"kind", "size", "age"}
    assert "<h1>table</h1>" in (real_command.folder / "table.report.html").read_text(encoding="utf-8")
    real_command.fails("learn", data, says="'table.jaxbn.json' exists and is kept; pass --force")


def test_learn_from_standard_input_prints_json_and_writes_nothing(real_command: RealCommand) -> None:
    done = real_command("learn", "-", "--json", "--folds", "0", "--seed", "7", stdin=as_csv(frame()).encode())
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["options"]["seed"] == 7
    assert document["held_out"] is None
    assert document["network"]["format"] == "jaxbn.BayesNet"
    assert sorted(document["cuts"]) == ["age", "size"]
    assert list(real_command.folder.iterdir()) == []


def test_query_answers_in_original_units(command: Command, model: str) -> None:
    done = command("query", model, "kind", "--given", "size=2:3", "--given", "age=0.1,0.9", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)["posterior"]
    expected = jaxbn.load(command.folder / model).query("kind", {"size": (2.0, 3.0)})
    assert [state["state"] for state in answer] == ["large", "small"]
    np.testing.assert_allclose([state["probability"] for state in answer], expected, rtol=1e-12)
    assert "below 1.5" in command("query", model, "size", "--given", "kind=small").stdout


def test_sample_is_csv_that_reads_back(real_command: RealCommand, model: str) -> None:
    rows = real_command("sample", model, "-n", "5").stdout.splitlines()
    assert rows[0] == "kind,size,age"
    assert len(rows) == 6
    assert len(json.loads(real_command("sample", model, "-n", "2", "--json").stdout)) == 2


def test_impute_fills_a_table_whole_or_not_at_all(command: Command, model: str) -> None:
    full = pd.DataFrame(frame())
    holed = full.mask(np.random.default_rng(0).random(full.shape) < 0.2)
    data = command.has("holed.csv", holed.to_csv(index=False))
    done = command("impute", model, data, "-o", "full.csv")
    assert done.returncode == 0, done.stderr
    assert f"{holed.isna().sum().sum()} missing entries filled in" in done.stderr
    net = jaxbn.load(command.folder / model)
    pd.testing.assert_frame_equal(pd.read_csv(command.folder / "full.csv"), net.impute(holed))
    command.fails("impute", model, data, "-o", "full.csv", says="'full.csv' exists and is kept; pass --force")
    command.fails("impute", model, data, "--how", "median", says="--strategy must be one of", code=2)
    unknown = command.has("unknown.csv", "kind,size,age\nhuge,,0.2\n")
    command.fails("impute", model, unknown, "-o", "never.csv", says="unknown level")
    assert not (command.folder / "never.csv").exists()
    assert command("impute", model, unknown, "--unknown", "missing").stdout.startswith("kind,size,age\nhuge,")


def test_evaluate_scores_rows_by_a_model(command: Command, model: str) -> None:
    data = command.has("rows.csv", as_csv(frame()))
    mean = json.loads(command("evaluate", data, "--model", model, "--json").stdout)["mean"]
    assert mean == pytest.approx(jaxbn.load(command.folder / model).log_likelihood(frame()).mean())


@pytest.mark.parametrize(("name", "start"), [("a.bif", b"network"), ("a.svg", b"<svg"), ("a.dot", b"digraph")])
def test_export_by_the_ending_of_the_name(command: Command, model: str, name: str, start: bytes) -> None:
    assert command("export", model, "--out", name).returncode == 0
    assert (command.folder / name).read_bytes().startswith(start)


def test_report_of_a_model_with_data(command: Command, model: str) -> None:
    data = command.has("rows.tsv", as_csv(frame(), "\t"))
    assert command("report", model, data, "--out", "page.html").returncode == 0
    assert "60 distinct" in (command.folder / "page.html").read_text(encoding="utf-8")


def test_long_lists_of_groups_and_levels_with_blanks_read_well(capsys: pytest.CaptureFixture[str]) -> None:
    """The groups of 831 first names filled a screen."""
    levels = [f"k{i:02d}" for i in range(60)]
    groups = jaxbn.Grouping([levels[i : i + 2] for i in range(0, 60, 2)])
    data = {"kind": levels * 2, "text": ["some words", "other words"] * 60, "list": ["red, blue", "red"] * 60}
    output.network(jaxbn.fit(data, {}, {"kind": groups}))
    shown = " ".join(capsys.readouterr().out.split())
    assert "k10, k11 | … 22 more … | k56, k57 | k58, k59" in shown
    assert "other words, some words" in shown
    assert "red; red, blue" in shown


def test_a_page_is_named_after_the_model_whatever_its_format(command: Command, model: str) -> None:
    command("export", model, "--out", "one.xdsl")
    assert command("report", "one.xdsl").returncode == 0
    assert "<h1>one</h1>" in (command.folder / "one.report.html").read_text(encoding="utf-8")


def test_parquet_is_read_where_pyarrow_is_installed(command: Command, model: str) -> None:
    pytest.importorskip("pyarrow")
    pd.DataFrame(frame()).to_parquet(command.folder / "rows.parquet")
    done = command("evaluate", "rows.parquet", "--model", model)
    assert done.returncode == 0, done.stderr
    assert "60 rows" in done.stdout


def test_datasets_are_listed_and_printed(command: Command) -> None:
    assert "auto_mpg" in json.loads(command("datasets", "--json").stdout)
    assert command("datasets", "iris").stdout.startswith("sepal_length,")


GOOD = as_csv(frame())
BAD_FILES = {
    "empty": ("", "is empty"),
    "header only": ("a,b\n", "has a header but no rows"),
    "ragged": ("a,b\n1,2\n1,2,3\n", "line 3 has 3 cells but the header has 2"),
    "binary": (bytes(range(256)) * 4, "is a binary file"),
    "broken archive": (b"PK\x03\x04 and more", "cannot be expanded"),
    "broken gzip": (b"\x1f\x8b and more", "cannot be expanded"),
    "utf-16": ("a,b\n1,2\n".encode("utf-16"), "pass --encoding utf-16"),
    "latin-1": ("a,b\n1,x\n2,\u00fc\n".encode("latin-1"), "byte 0xfc in line 3"),
    "duplicate header": ("a,b,a\n1,2,3\n", "'a' more than once (columns 1, 3)"),
    "unnamed column": ("a,,b\n1,2,3\n", "column 2 has no name"),
    "no parquet": (b"PAR1 and more", "arquet"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_are_refused_in_one_line(command: Command, case: str) -> None:
    content, says = BAD_FILES[case]
    command.fails("learn", command.has("bad.csv", content), says=says)


def test_notices_speak_of_options(command: Command) -> None:
    words = "horsepower,kind\n" + "70,a\n-,b\n80.5,a\n90,b\n"
    done = command("evaluate", command.has("cars.csv", words), "--graph", "kind>horsepower", "--folds", "2")
    assert "so it is discrete; pass --na-values - if that means missing" in done.stderr


def test_missing_values_are_refused_where_that_is_asked_for(command: Command) -> None:
    says = "infer them with --missing infer, fill them in, leave these columns out with --drop, or drop the rows"
    command.fails("learn", command.has("bad.csv", "a,b\n1.5,2\n,3\n"), "--missing", "error", says=says)


def test_no_such_file_and_a_directory(command: Command) -> None:
    command.fails("learn", "auto_mgp", says="did you mean 'auto_mpg'?")
    command.fails("learn", ".", says="is a folder without Parquet files")
    command.fails("query", "none.json", "x", says="there is no model file 'none.json'")
    command.fails("query", command.has("text.json", "hello"), "x", says="is truncated or not a JSON file")


def test_a_file_too_large_for_the_memory(command: Command) -> None:
    data = command.has("table.csv", GOOD)
    command.fails("learn", data, says="of memory, but 1 kB are free", JAXBN_MAX_MEMORY="1000")


def test_outputs_that_cannot_be_written_are_refused_first(command: Command) -> None:
    data = command.has("table.csv", GOOD)
    command.fails("learn", data, "--out", "no/such/model.json", says="there is no directory 'no/such'")
    command.fails("learn", data, "--out", ".", says="it is a directory")
    command.fails("learn", data, "--out", "x.json", "--report", "x.json", says="named for two outputs")
    if Path("/proc/self").exists():  # nobody may write there, not even root
        command.fails("learn", data, "--out", "/proc/model.json", says="cannot write '/proc/model.json'")


def test_unknown_columns_come_with_the_nearest_names(command: Command) -> None:
    data = command.has("table.csv", GOOD)
    for option in ("--continuous", "--drop", "--order"):
        command.fails("learn", data, option, "sise", says=f"{option} names 'sise'", code=2)
    command.fails("learn", data, "--required", "sise>kind", says="did you mean 'size'?", code=2)
    command.fails("discretize", data, "--graph", "kind>sise", says="--graph names 'sise'", code=2)


def test_levels_that_are_numbers_have_ranges(command: Command) -> None:
    net = jaxbn.fit({"year": [70, 71, 72, 73] * 3, "kind": list("aabb") * 3}, {"kind": ["year"]})
    net.save(command.folder / "years.json")
    for given, expected in (("71:72", {71, 72}), ("72:", {72, 73}), (":70", 70)):
        answer = json.loads(command("query", "years.json", "kind", "--given", f"year={given}", "--json").stdout)
        np.testing.assert_allclose(
            [state["probability"] for state in answer["posterior"]], net.query("kind", {"year": expected})
        )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("size=1e6", "is outside the range the network knows of 'size'"),
        ("size=100:200", "is outside the range the network knows of 'size'"),
        ("size=big", "'big' is not a number"),
        ("size=3:1", "the ends are swapped"),
        ("kind=huge", "'huge' is not a level of 'kind'"),
        ("sise=1", "did you mean 'size'?"),
        ("size", "must be name=value"),
    ],
)
def test_bad_evidence_is_refused(command: Command, model: str, given: str, says: str) -> None:
    command.fails("query", model, "age", "--given", given, says=says, code=2)


def test_evidence_outside_the_range_is_allowed_when_asked_for(command: Command, model: str) -> None:
    assert command("query", model, "kind", "--given", "size=1e6", "--allow-outside").returncode == 0


@pytest.mark.parametrize("options", [["--rate", "fast"], ["--restarts", "0"], ["--method", "magic"], ["--folds", "1"]])
def test_bad_options_are_usage_errors(command: Command, options: list[str]) -> None:
    command.fails("learn", command.has("table.csv", GOOD), *options, says=options[0], code=2)


def test_an_unknown_option_or_command_is_a_usage_error(real_command: RealCommand) -> None:
    assert real_command("learn", "iris", "--frobnicate").returncode == 2
    assert real_command("lurn").returncode == 2


def test_where_entries_are_missing_and_what_that_depends_on(command: Command) -> None:
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b"], 150)
    data = pd.DataFrame({"kind": kind, "size": rng.normal(size=150) + 3 * (kind == "a")})
    data.loc[(kind == "a") & (rng.random(150) < 0.5), "size"] = np.nan
    table = command.has("holes.csv", data.to_csv(index=False))
    options = ("--folds", "0", "--missing", "state", "-o", "holes.json", "--json")
    done = command("learn", table, *options)
    document = json.loads(done.stdout)
    assert document["missing"] == {"size": int(data["size"].isna().sum())}
    assert [(each["column"], each["neighbour"]) for each in document["missing_depends_on"]] == [("size", "kind")]
    assert "% missing" in done.stderr
    command("report", "holes.json", table, "-o", "holes.html")
    page = (command.folder / "holes.html").read_text(encoding="utf-8")
    assert "Missing entries" in page
    assert "depends on" in page


def test_dates_at_the_command_line(command: Command) -> None:
    days = pd.date_range("2020-01-01", periods=80)
    rows = pd.DataFrame({"day": days.strftime("%d/%m/%Y"), "late": days >= "2020-02-10"})
    data = command.has("days.csv", rows.to_csv(index=False))
    options = ("--dates", "%d/%m/%Y", "--restarts", "1", "--folds", "0", "--out", "days.json")
    done = command("learn", data, *options)
    assert done.returncode == 0, done.stderr
    assert "2020-02-10" in done.stdout
    for given in ("day=2020-03-01", "day=2020-03-01:2020-03-10", "day=2020-03-01 10:00:2020-03-10", "day=01/03/2020:"):
        done = command("query", "days.json", "late", "--given", given, "--json")
        assert json.loads(done.stdout)["posterior"][1]["probability"] > 0.9, given
    command.fails("query", "days.json", "late", "--given", "day=soon", says="'soon' is not a date", code=2)
    command.fails("query", "days.json", "late", "--given", "day=2050-01-01", says="2020-01-01 to 2020-03-20", code=2)


def test_columns_that_say_nothing_are_left_out_and_kept_on_request(command: Command) -> None:
    rows = pd.DataFrame(frame()).assign(code=[f"k{i}" for i in range(60)], same="x")
    data = command.has("table.csv", rows.to_csv(index=False))
    options = ("--restarts", "1", "--folds", "0", "--json")
    done = command("learn", data, *options)
    assert "left out: 'code', which has a different value in each row; pass --keep code to keep it" in done.stderr
    assert "left out: 'same', which has the same value in every row; pass --keep same to keep it" in done.stderr
    assert [each["name"] for each in json.loads(done.stdout)["network"]["variables"]] == ["kind", "size", "age"]
    done = command("learn", data, *options, "--keep", "same")
    assert json.loads(done.stdout)["network"]["variables"][-1]["name"] == "same"


def test_notices_come_once_in_the_words_of_the_command_line(command: Command) -> None:
    rows = pd.DataFrame(frame()).assign(place=[f"p{i}" for i in range(53)] + ["p0"] * 7)
    data = command.has("table.csv", rows.to_csv(index=False))
    done = command("learn", data, "--keep", "place", "--restarts", "1", "--folds", "2", "--no-files")
    notices = [line for line in done.stderr.splitlines() if "merged into groups" in line]
    assert len(notices) == 1
    assert "(--no-group keeps them apart)" in notices[0]
    assert "log evidence" in done.stdout
    assert "K2 score" not in done.stdout
    done = command("learn", data, "--keep", "place", "--restarts", "1", "--folds", "0", "--no-files", "--no-group")
    assert "merged into groups" not in done.stderr
    assert "53 levels" in done.stdout


def test_predict_and_score(command: Command) -> None:
    table = {"kind": [*"ab"] * 200, "size": [1.0 + 0.01 * (i % 7) + 4 * (i % 2) for i in range(400)]}
    jaxbn.fit(table, {"size": ["kind"]}, {"size": [3.0]}).save(command.folder / "net.json")
    rows = command.has("rows.csv", as_csv({"kind": ["a", "b", "b"], "size": [1.03, 5.02, 1.02]}))
    done = command("predict", "net.json", rows, "kind")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["kind", "a", "b", "a"]
    assert command("predict", "net.json", rows, "size").stdout.splitlines() == [
        "size",
        "below 3",
        "3 or more",
        "3 or more",
    ]
    assert command("predict", "net.json", rows, "kind", "--returns", "proba").stdout.startswith("a,b\n0.99")
    assert command("predict", "net.json", rows, "size", "--give", "0.1,0.9", "-o", "q.csv").returncode == 0
    assert pd.read_csv(command.folder / "q.csv").shape == (3, 2)
    wrong = command("predict", "net.json", rows, "kidn")
    assert (wrong.returncode, "did you mean 'kind'?" in wrong.stderr) == (2, True)
    wrong = command("predict", "net.json", rows, "size", "--give", "most")
    assert (wrong.returncode, "--returns must be" in wrong.stderr) == (2, True)
    assert command("score", "net.json", rows, "--shares", "-o", "scores.csv").returncode == 0
    scores = pd.read_csv(command.folder / "scores.csv", keep_default_na=False)
    assert list(scores) == ["log_density", "p_value", "reasons", "kind", "size"]
    assert scores["reasons"].tolist() == ["", "", "size given kind"]


def test_two_networks_are_compared(command: Command, tmp_path: Path) -> None:
    rows = {"a": [0, 1, 0, 1], "b": [0, 1, 1, 1], "x": [1.0, 2.0, 3.0, 4.0]}
    jaxbn.fit(rows, {"b": ["a"]}, {"x": [2.5]}).save(tmp_path / "one.json")
    jaxbn.fit(rows, {"a": ["b"], "x": ["a"]}, {"x": [1.5, 2.5]}).write(tmp_path / "two.xdsl")
    done = command("compare", str(tmp_path / "one.json"), str(tmp_path / "two.xdsl"), "-o", str(tmp_path / "both.svg"))
    assert done.stdout.splitlines() == [
        "2 arcs differ (1 of the equivalence classes): added a -> x; turned a -> b",
        "x: 2 bins (2.5) -> 3 bins (1.5, 2.5)",
    ]
    assert (tmp_path / "both.svg").read_text().startswith("<?xml")

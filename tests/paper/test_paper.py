"""The paper's tables: what reproduces exactly is exact, and the page holds together."""

import pandas as pd
import pytest

from jaxbn.paper import page, published, studies


@pytest.mark.parametrize("where", ["Table 3", "Table 4", "Appendix B.2"])
def test_published_cuts_are_found(where):
    study = next(study for study in published.FIXED if study.where == where)
    frame = studies.fixed_cuts(study._replace(mdl=None))
    assert frame["same"].all()


def test_iris_by_mdl_is_the_published_one():
    frame = studies.fixed_cuts(published.FIXED[-1])
    assert frame["same"].all()
    assert set(frame["method"]) == {"bayesian", "mdl"}


def test_synthetic_study_is_near_the_published_curves():
    frame = studies.synthetic(12, (400,)).set_index("method")
    assert (frame["log-likelihood"] - frame["published log-likelihood"]).abs().max() < 0.08  # 12 trials, not 100
    assert (frame["edges"] - frame["published edges"]).abs().max() < 0.8
    assert frame.loc["bayesian", "log-likelihood"] > frame.loc["mdl", "log-likelihood"]


def test_appendix_a_needs_the_structure():
    frame = studies.appendix_a(draws=2).set_index("method")
    assert frame.loc["bayesian", "farthest from 1"] < 0.05
    assert abs(frame.loc["bayesian", "jaxbn"] - published.APPENDIX_A["structure-aware"]) < 0.05


def test_accuracy_of_iris():
    assert (studies.iris_accuracy()["jaxbn"] - published.IRIS_ACCURACY).abs().max() < 0.02


def test_page_is_not_replaced_unless_asked(tmp_path):
    (tmp_path / page.PAGE).write_text("mine")
    with pytest.raises(FileExistsError, match="--force"):
        page.write_all(tmp_path, quick=True)
    assert (tmp_path / page.PAGE).read_text() == "mine"


def test_tables_become_markdown():
    text = page.markdown(pd.DataFrame({"a": [1.0, float("nan")], "same": [True, False]}))
    assert text.splitlines()[2:] == ["| 1.000 | yes |", "|  | no |"]

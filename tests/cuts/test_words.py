"""Numbers and intervals with the fewest digits that tell them apart."""

from __future__ import annotations

import numpy as np
import pytest

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.words import CLOSE, bin_words, cut_texts, cut_words, rounded, short_numbers
from jaxbn.inputs.units import Unit


@pytest.mark.parametrize("seed", range(40))
def test_texts_tell_the_numbers_apart_and_no_shorter_ones_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    numbers = np.unique(rng.normal(size=6) * 10.0 ** rng.integers(-8, 18)) + 10.0 ** rng.integers(-3, 9)
    numbers = np.unique(numbers)
    texts = short_numbers(numbers.tolist())
    values = [float(text) for text in texts]
    assert (np.diff(values) > 0).all()
    assert len(set(texts)) == len(numbers)
    for number, text in zip(numbers, texts, strict=True):
        gap = np.abs(numbers[numbers != number] - number).min()
        assert abs(float(text) - number) <= CLOSE * gap
        digits = len(text.lower().split("e")[0].replace("-", "").replace(".", "").strip("0"))
        if digits > 1:
            assert abs(float(f"{number:.{digits - 1}g}") - number) > CLOSE / 2 * gap * (1 - 1e-9)


def test_bins_in_words() -> None:
    assert bin_words([15.249999999999998, 20.75], 9.0, 46.6) == ["below 15.25", "15.25 to 20.75", "20.75 or more"]
    # a step that keeps floats apart is no grid that a reader knows
    assert bin_words([15.249999999999998, 20.75], 9.0, 46.6, step=1e-7) == [
        "below 15.25",
        "15.25 to 20.75",
        "20.75 or more",
    ]
    assert bin_words([], 9.0, 46.6) == ["all"]
    assert bin_words([1e6 + 0.25, 1e6 + 0.5], 1e6, 1e6 + 1) == [
        "below 1000000.25", "1000000.25 to 1000000.5", "1000000.5 or more"
    ]  # fmt: skip
    assert short_numbers([2.0], among=[0.0, 2.0]) == ["2"]  # a cut at the largest value
    assert short_numbers([0.0, 1e-300, 1e300]) == ["0", "1e-300", "1e300"]
    assert short_numbers([-1.7e308, 1.7e308]) == ["-1.7e308", "1.7e308"]  # whose difference is no float


def test_a_day_is_in_one_bin() -> None:
    """Bins were "2020-01-14 to 2020-04-07" and "2020-04-07 to 2020-05-26"; of which was the 7th of April?"""
    cuts, unit = [18275.0, 18358.5, 18407.5], Unit("date")
    assert bin_words(cuts, 18200.0, 18500.0, unit, 1.0) == [
        "before 2020-01-14", "2020-01-14 to 2020-04-06", "2020-04-07 to 2020-05-25", "2020-05-26 and later"
    ]  # fmt: skip
    assert bin_words([18275.5], 18275.0, 18276.0, unit, 1.0) == ["2020-01-14", "2020-01-15"]
    assert cut_texts(cuts, (18200.0, 18500.0), unit, 1.0) == ["2020-01-14", "2020-04-07", "2020-05-26"]


def test_numbers_of_an_answer_lose_only_the_last_digits() -> None:
    assert rounded([2.4749999999999996, 15.249999999999998]) == [2.475, 15.25]
    numbers = np.sort(np.random.default_rng(0).normal(size=50))
    np.testing.assert_allclose(rounded(numbers.tolist()), numbers, rtol=0, atol=1e-9 * np.diff(numbers).max())
    assert (np.diff(rounded(numbers.tolist())) > 0).all()


def test_a_binning_without_cuts_is_not_cut() -> None:
    assert cut_words(Binning([])) == "not cut"
    assert cut_words(Binning([1.0, 2.0], method="not cut")) == "not cut"
    assert cut_words(Binning([1.0, 2.0], method="equal width"), " ") == "1 2"


def test_many_cuts_are_cut_short_with_a_count() -> None:
    words = cut_words(Binning(np.arange(50.0)), " ")
    assert words == "0 1 2 3 4 5 6 7 … 40 more … 48 49"

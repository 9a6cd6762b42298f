"""What is known of each data set: columns, kinds, target, source and the paper's network structures.

Columns are in UCI's order, so that the n-th column is the n-th letter of the paper: A, B, C, …
A structure is written in those letters, close to how the paper writes it: figures as arcs, ``"B>C C>DE"``
(B to C; C to D and E), the table of further data sets as a list of parents, ``"-,A,BE"`` (of A, of B, of C).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import ascii_uppercase

Structure = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Entry:
    """One data set of the catalogue.

    Attributes:
        columns: names in UCI's order, separated by blanks.
        discrete: letters of the discrete columns; the others are continuous.
        target: name of the column UCI means to be predicted.
        source: citation.
        structures: name of a structure -> arcs or list of parents, in letters.
    """

    columns: str
    discrete: str
    target: str
    source: str
    structures: Mapping[str, str]

    @property
    def letters(self) -> dict[str, str]:
        """Letter of the paper -> column name."""
        return dict(zip(ascii_uppercase, self.columns.split(), strict=False))

    @property
    def continuous(self) -> tuple[str, ...]:
        """Names of the continuous columns, in column order."""
        return tuple(name for letter, name in self.letters.items() if letter not in self.discrete)

    def structure(self, name: str) -> Structure:
        """The named structure as ``{child: parents}`` in column names, parents in column order."""
        text = self.structures[name]
        in_letters = _from_arcs(text, "".join(self.letters)) if ">" in text else _from_parents(text)
        return {self.letters[child]: tuple(self.letters[p] for p in parents) for child, parents in in_letters.items()}


def _from_arcs(text: str, letters: str) -> dict[str, str]:
    """Parents of every letter from arcs such as ``"B>C C>DE"``."""
    parents: dict[str, set[str]] = {letter: set() for letter in letters}
    for group in text.split():
        tails, heads = group.split(">")
        for head in heads:
            parents[head] |= set(tails)
    return {child: "".join(sorted(of_child)) for child, of_child in parents.items()}


def _from_parents(text: str) -> dict[str, str]:
    """Parents of the first letters from a list such as ``"-,A,BE"``; letters beyond the list are left out."""
    return {
        child: "".join(sorted(of_child.strip("-")))
        for child, of_child in zip(ascii_uppercase, text.split(","), strict=False)
    }


_WINE_FIGURE = "H>AGIJM A>DKLBCNMI AD>E D>I AN>F F>J"

CATALOGUE: dict[str, Entry] = {
    "auto_mpg": Entry(
        columns="mpg cylinders displacement horsepower weight acceleration model_year origin",
        discrete="BGH",  # the paper: 5, 13 and 3 instantiations
        target="mpg",
        source="Quinlan (1993), Auto MPG, UCI Machine Learning Repository, doi:10.24432/C5859H",
        structures={
            "paper": "B>C C>DE C>G D>F E>AG A>G",
            "paper_learned": "B>CEAHDF E>AHDF H>GDC A>G C>D D>F",
            "appendix_b": "A>CGFED A>B E>D F>EBCG",
        },
    ),
    "wine": Entry(
        columns="class alcohol malic_acid ash alcalinity magnesium phenols flavanoids nonflav_phenols proanthocyanins "
        "color hue od280 proline",
        discrete="A",  # the paper: 3 instantiations
        target="class",
        source="Aeberhard and Forina (1992), Wine, UCI Machine Learning Repository, doi:10.24432/C5PC7J",
        structures={
            "paper": _WINE_FIGURE,  # what the paper's table comes from: without the figure's arc A>J
            "paper_drawn": _WINE_FIGURE + " A>J",
            "paper_learned": "C>LJIB D>JGIE J>IGM I>NFE I>B N>BG G>BH L>MN M>AE A>FKHE B>A L>A",
        },
    ),
    "housing": Entry(
        columns="crim zn indus chas nox rm age dis rad tax ptratio b lstat medv",
        discrete="DI",  # the paper: 2 and 9 instantiations
        target="medv",
        source="Harrison and Rubinfeld (1978), Hedonic housing prices and the demand for clean air, "
        "doi:10.1016/0095-0696(78)90006-2",
        structures={
            "paper": "E>BCHI E>G B>ICG B>J C>IJK I>JK J>KL G>M M>N NA>F",
            "paper_learned": "B>IHCG B>N B>F L>CAN L>F N>MF G>M C>HKEJ KJ>I",
        },
    ),
    "seeds": Entry(
        columns="area perimeter compactness length width asymmetry groove class",
        discrete="H",  # seven measurements and the variety
        target="class",
        source="Charytanowicz et al. (2010), Seeds, UCI Machine Learning Repository, doi:10.24432/C5H30K",
        structures={"paper": "-,A,BE,AB,B,AH,BD,B"},  # the paper prints G among its own parents (BDG)
    ),
    "glass": Entry(
        columns="ri na mg al si k ca ba fe type",
        discrete="J",  # refractive index, eight oxides in weight percent, and the type
        target="type",
        source="German (1987), Glass Identification, UCI Machine Learning Repository, doi:10.24432/C5WW2P",
        structures={"paper": "F,EFH,FGH,AFH,AF,-,AF,F,-,-"},
    ),
    "heart": Entry(
        columns="age sex cp trestbps chol fbs restecg thalach exang oldpeak slope ca thal class",
        # UCI: B, F, I binary, C, G, M nominal, K ordered. It calls L (ca, vessels coloured) real, but L is a count with
        # the values 0 to 3, as coarse as the ordered K: discrete here. Ten-fold log-likelihood of the paper's network
        # (published: -25.81), mean of 20 shuffles: -25.94 with L discrete, -25.43 with L continuous, -25.04 with both
        # K and L continuous.
        discrete="BCFGIKLMN",
        target="class",
        source="Statlog (Heart), UCI Machine Learning Repository, doi:10.24432/C57303",
        structures={
            "paper": "H,M,J,EF,-,-,J,IK,C,-,IJ,A,I"
        },  # 13 variables: the class (N) is not in the paper's network
    ),
    "liver_disorders": Entry(
        columns="mcv alkphos sgpt sgot gammagt drinks selector",
        discrete="G",  # UCI: the selector is categorical, everything else continuous, drinks (16 values) included
        target="drinks",  # UCI: the selector splits the rows into two sets and is not a diagnosis
        source="Forsyth (1990), Liver Disorders, UCI Machine Learning Repository, doi:10.24432/C54G67",
        structures={"paper": "-,EF,-,CE,C,CD,D"},
    ),
    "ilpd": Entry(
        columns="age gender tb db alkphos sgpt sgot tp alb ag_ratio class",
        discrete="BK",
        target="class",
        source="Ramana and Venkateswarlu (2022), ILPD (Indian Liver Patient Dataset), UCI Machine Learning Repository, "
        "doi:10.24432/C5D02C",
        structures={"paper": "DEFI,E,-,-,DG,-,F,CGIJ,DEJ,-,-"},  # 11 variables, though the paper's table says 10
    ),
    "banknote": Entry(
        columns="variance skewness curtosis entropy class",
        discrete="E",  # four statistics of the wavelet-transformed image, and the class
        target="class",
        source="Lohweg (2012), Banknote Authentication, UCI Machine Learning Repository, doi:10.24432/C55P57",
        structures={"paper": "BD,D,AB,-,AD"},
    ),
    "iris": Entry(
        columns="sepal_length sepal_width petal_length petal_width class",
        discrete="E",  # the paper
        target="class",
        source="Fisher (1936), Iris, UCI Machine Learning Repository, doi:10.24432/C56C76",
        structures={"paper": "E>ABCD"},  # naive Bayes
    ),
}

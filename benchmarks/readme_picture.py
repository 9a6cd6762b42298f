"""Draws the README's picture: the network of Auto MPG and the cuts of two of its variables."""

from pathlib import Path

from matplotlib import pyplot as plt

import jaxbn

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "auto_mpg.png"


def main() -> None:
    cars = jaxbn.datasets.load("auto_mpg").frame
    net = jaxbn.learn(cars, progress=False)
    figure = plt.figure(figsize=(12, 5.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1))
    net.plot(ax=left.subplots())
    for axis, name in zip(right.subplots(2, 1), ("mpg", "horsepower"), strict=True):
        jaxbn.plot_marginal(net, cars, name, ax=axis)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=90)


if __name__ == "__main__":
    main()

"""Data sets of the paper and synthetic data whose truth is known.

Example:
    >>> from jaxbn import datasets
    >>> cars = datasets.load("auto_mpg")
    >>> cars.frame.shape
    (392, 8)
    >>> cars.structures["paper"]["model_year"]
    ('mpg', 'displacement', 'weight')
"""

from jaxbn.datasets._loader import Dataset, load, names
from jaxbn.datasets.synthetic import appendix_a, gauss, indep, table6

__all__ = ["Dataset", "appendix_a", "gauss", "indep", "load", "names", "table6"]

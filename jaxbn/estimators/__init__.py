"""The estimators that ``jaxbn.sklearn`` offers, beside its classifier."""

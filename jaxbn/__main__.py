"""``python -m jaxbn`` is the command ``jaxbn``."""

from jaxbn.cli import main

if __name__ == "__main__":
    main()

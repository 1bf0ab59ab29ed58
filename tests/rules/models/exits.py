"""A callable that ends the process in place of building a model."""

import sys


def build():
    sys.exit(3)

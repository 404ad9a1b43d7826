"""Recipes are run from the root of the repository and are no part of the package."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

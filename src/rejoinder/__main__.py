"""`python -m rejoinder`."""

import sys

from rejoinder.cli import main

sys.exit(main())

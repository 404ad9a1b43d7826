"""`python -m rejoinder.reproduction`."""

import sys

from rejoinder.reproduction.command import main

sys.exit(main())

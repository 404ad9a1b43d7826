"""`python -m rejoinder`."""

import sys

from rejoinder.command import main

sys.exit(main())

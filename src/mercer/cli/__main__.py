"""``python -m mercer.cli``."""

import sys

from mercer.cli import main

sys.exit(main())

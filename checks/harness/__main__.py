"""`python -m checks.harness WORD ...`."""

from checks.harness.cli import main

raise SystemExit(main())

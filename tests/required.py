"""What this machine must have: where HDP_REQUIRE names it among words between
commas, a test that would be skipped for want of it has failed."""
import os
import sys

NAMES = os.environ.get("HDP_REQUIRE", "").split(",")


def without(name, why):
    """Ends a test that cannot be made here."""
    required = name in NAMES
    print(f"{'required' if required else 'skipped'}: {why}")
    sys.exit(1 if required else 77)

"""`python -m headway.coverage` writes `docs/coverage.md`; with `survey`, Spark is asked about its functions before."""

from __future__ import annotations

import json
import sys

from headway.coverage.page import CATALOGUE, PAGE, page


def main(arguments: list[str]) -> None:
    if arguments == ["survey"]:
        from headway.coverage.survey import survey

        CATALOGUE.write_text(json.dumps(survey(), indent=0, sort_keys=True) + "\n")
    PAGE.write_text(page())


if __name__ == "__main__":
    main(sys.argv[1:])

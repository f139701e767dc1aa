"""The query for Bytewax: the static table is a dictionary in every worker."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from bench.libraries.steps import EPOCH, Keyed, Row, Steps


def steps(told: dict[str, Any]) -> Steps:
    campaigns = {ad: str(campaign) for ad, campaign in zip(*told["campaigns"], strict=True)}

    def keep(rows: list[Row]) -> list[Keyed]:
        return [
            (campaigns[ad], (EPOCH + timedelta(0, 0, at),)) for at, ad, kind in rows if kind == 0 and ad in campaigns
        ]

    return Steps(keep, int, lambda count, value: count + 1, lambda count: (count,))

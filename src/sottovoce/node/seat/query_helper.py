"""A seat that stays after the training, because others need it for their queries."""

import asyncio

from sottovoce.course.inputs import Started
from sottovoce.node.seat.query_seat import QuerySeat
from sottovoce.study.roster import Role
from sottovoce.study.study import Study


def stays(study: Study, seat: str) -> bool:
    """Whether a seat is needed after the training."""
    roster, plan = study.roster, study.plan
    helping = (Role.EVALUATOR, Role.MEMBER, Role.ANSWERER)
    if any(seat == one.name for role in helping for one in roster.having(role)):
        return True
    return seat == roster.dealer and plan.deals_verdicts


class QueryHelper(QuerySeat):
    """A helper's seat, until the study is closed."""

    async def serve(self) -> None:
        """Help until the study is closed."""
        await self.take(Started())
        carrying = asyncio.create_task(self.run())
        closing = asyncio.create_task(self.closed.wait())
        try:
            await asyncio.wait({carrying, closing}, return_when=asyncio.FIRST_COMPLETED)
            if carrying.done():
                await carrying
        finally:
            for task in (carrying, closing):
                task.cancel()
            await asyncio.gather(carrying, closing, return_exceptions=True)

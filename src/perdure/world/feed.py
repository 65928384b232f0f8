"""The social feed: everybody's messages, likes and reposts, and whom people follow."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.records.reaction import Action
from perdure.world.board import Board
from perdure.world.channel import Deed
from perdure.world.posts import Post

FEED = "feed"
LIKE = "like"
REPOST = "repost"
FOLLOW = "follow"
FEED_ACTIONS = (
    Action(name=LIKE),
    Action(name=REPOST),
    Action(name="comment", says=True),
    Action(name="quote", says=True),
    Action(name=FOLLOW),
    Action(name="post", about=False, says=True),
)


class FeedChannel(Board):
    """A feed. Likes and reposts are votes; comments and quotes may be against what they answer."""

    name = FEED
    actions = FEED_ACTIONS

    def votes(self, done: Mapping[str, int]) -> int:
        """Count likes and reposts."""
        return done.get(LIKE, 0) + done.get(REPOST, 0)

    def follow_up(self, deed: Deed, post: Post) -> None:
        """Let a repost reach those who know who made it, and a follow count as a tie."""
        if deed.action.name == REPOST:
            self._posts.pass_on(deed.persona, post)
        elif deed.action.name == FOLLOW and post.stimulus.author:
            self._setting.acquaintance.follow(deed.persona, post.stimulus.author)

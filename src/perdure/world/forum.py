"""The forum: threads, votes up and down; one for everybody, or one for each community."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.base.errors import PluginError
from perdure.records.channels import Forum, Scope
from perdure.records.reaction import Action
from perdure.world.board import Board
from perdure.world.channel import Deed, Published, Setting
from perdure.world.interest import Interest
from perdure.world.posts import Post

FORUM = "forum"
UP = "up"
DOWN = "down"
FORUM_ACTIONS = (
    Action(name=UP),
    Action(name=DOWN),
    Action(name="reply", says=True),
    Action(name="post", about=False, says=True),
)

# People without a community are a group of their own.
_NO_COMMUNITY = -1


class ForumChannel(Board):
    """A forum. In the scope of communities, somebody sees messages and votes of their own alone.

    Claims have no author, and are there for every community.
    """

    name = FORUM
    actions = FORUM_ACTIONS

    def __init__(
        self, asked: Forum, setting: Setting, published: Published, interest: Interest | None
    ) -> None:
        """Make the forum.

        Raises:
            PluginError: as of every board; or it is to be one for each community, and there are
                none.

        """
        self._communities = setting.neighbours.communities if asked.scope is Scope.COMMUNITY else {}
        self._is_shared = asked.scope is Scope.GLOBAL
        super().__init__(asked, setting, published, interest)
        if not self._is_shared and not self._communities:
            raise PluginError(
                "The forum's scope is `community`, and the population has no communities. Change "
                "`graph:` in `population`, or write `scope: global`."
            )

    def group_of(self, persona: str) -> int:
        """Name the community of a persona; there is one group if everybody sees everything."""
        return 0 if self._is_shared else self._communities.get(persona, _NO_COMMUNITY)

    def votes(self, done: Mapping[str, int]) -> int:
        """Count votes up, less votes down."""
        return done.get(UP, 0) - done.get(DOWN, 0)

    def follow_up(self, deed: Deed, post: Post) -> None:
        """Do nothing more: votes and replies are counted."""

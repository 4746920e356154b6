"""Telling people that something failed: in the log, or by a webhook where one is set."""

import logging

import dagster as dg
from pydantic import Field

from arborist.errors import InputError

TIMEOUT_SECONDS = 10.0


class Notifier(dg.ConfigurableResource):
    """Sends short messages with a link's worth of detail.

    A webhook gets a POST with a JSON object: `text`, one line that chat services show, and the details by name.
    """

    webhook: str | None = Field(
        default=None, description="An http(s) URL that messages are posted to ($ARBORIST_WEBHOOK); else the log."
    )

    def notify(self, text: str, details: dict[str, str], log: logging.Logger) -> None:
        """Send one message. Raises InputError where the webhook does not take it."""
        if self.webhook is None:
            log.error("%s %s", text, details)
            return
        # Only who sends something needs the client.
        import httpx2

        try:
            httpx2.post(self.webhook, json={"text": text, **details}, timeout=TIMEOUT_SECONDS).raise_for_status()
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            remedy = "check ARBORIST_WEBHOOK, and what it leads to"
            raise InputError.at(self.webhook, "", f"the message was not taken: {text}", remedy) from error

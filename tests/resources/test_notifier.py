"""A message reaches the webhook as JSON, or else the log; one that is not taken is said so."""

import logging

import pytest

from arborist.errors import InputError
from resources.notifier import Notifier
from tests.webhook import listening

LOG = logging.getLogger("arborist.test")


def test_a_webhook_gets_the_text_and_the_details() -> None:
    with listening() as webhook:
        Notifier(webhook=webhook.url).notify("Run 1 failed", {"job": "build_shards"}, LOG)
    assert webhook.posted == [{"text": "Run 1 failed", "job": "build_shards"}]


def test_without_a_webhook_the_log_gets_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, LOG.name):
        Notifier().notify("Run 1 failed", {"job": "build_shards"}, LOG)
    assert "Run 1 failed" in caplog.text and "build_shards" in caplog.text


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/hook", "ftp://127.0.0.1/hook", "not a url"])
def test_a_webhook_that_cannot_be_reached_is_named(url: str) -> None:
    with pytest.raises(InputError, match="ARBORIST_WEBHOOK"):
        Notifier(webhook=url).notify("Run 1 failed", {}, LOG)


def test_a_webhook_that_refuses_is_named() -> None:
    with listening(status=500) as webhook, pytest.raises(InputError, match="not taken: Run 1 failed"):
        Notifier(webhook=webhook.url).notify("Run 1 failed", {}, LOG)
    assert len(webhook.posted) == 1

"""From the outbox to consumers: letters, order, retries."""

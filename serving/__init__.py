"""What the others have found, served: scores, alarms and their life, drains, deliveries, the console, the command line.

* scores    ``scoring`` (batch and ad hoc), ``backtest``, ``workbench`` (the same steps for notebooks)
* alarms    ``alarms`` (what one is, which state may follow which), ``steps``, ``upkeep``, ``confirming``, ``storms``,
            ``alarm_csv``
* store     ``store`` writes by ``changes`` and reads by ``queries``; ``tables``, ``migrations``, ``migrate``,
            ``database``, ``backup``, ``leases``; ``notices`` go out with each step of an alarm, ``pinglists`` to
            agents
* drains    ``drains``: advice, guard, leases, log
* out       ``deliveries`` (outbox, order, retries) by ``adapters``, one a consumer
* service   ``app`` puts together ``routes``, ``web`` (the console), ``deps``, ``access``, ``middleware``,
            ``contract``; ``wire`` is what is said, ``client`` asks it, ``errors`` are refusals; ``samples`` takes
            what hosts push; ``verdicts``, ``series``
* memory    ``snapshot``, ``lives`` and ``hot`` answer thousands of times a second; ``bodies``, ``pauses``,
            ``workers``
* metrics   ``metrics`` of the service, ``risk_metrics`` of transceivers
* operator  ``cli``, ``doctor``, ``settings``
"""

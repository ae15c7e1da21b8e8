"""From rows to risks, from risks to alarms, and the judge of anybody's alarms.

* model     ``base`` says what every predictor gives; ``joint`` is it: ``hazard`` (when) and ``fault`` (what, which
            end), made of ``ramps``, ``symptoms``, ``boosting``, ``calibration``; ``day_one`` before any ticket;
            ``baselines``
* training  ``train``, from ``training_data`` (``rows``, ``sampling``) to an ``artifact`` (``tree_text``: its trees);
            ``tuning``, ``evidence``, ``reference``
* alarms    ``policy`` (persistence, hysteresis, storms), ``policy_fit`` (thresholds by budget), ``walk`` (by the hour),
            ``alarm``, ``actions``, ``explain``
* judge     ``evaluate`` by the rules of ``counting`` and the ``truth`` of records: ``scorecard``, ``alarm_file``,
            ``folds``, ``paired``; of risks ``risk_log``, ``risk_card``, ``reliability``, ``horizons``, ``points``,
            ``budgets``
* MLflow    ``registry``, ``kept`` and ``mlflow_model``; ``card`` and ``drift`` of what is there
* pages     ``report``, ``dossier``, by ``page``, ``plots``, ``tables``
"""
